#include "virtualgpu/settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace virtualgpu {
namespace {

std::string text_of(const char* name, const std::string& fallback) {
  const char* text = std::getenv(name);
  return text && *text ? text : fallback;
}

/// CUDA_VISIBLE_DEVICES: a list of cards, shown in that order; empty or -1 hides all.
int visible_of(int cards) {
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!text) return cards;
  if (!*text || *text == '-') return 0;
  return std::min(cards, 1 + static_cast<int>(std::count(text, text + std::strlen(text), ',')));
}

Settings from_environment() {
  Settings s;
  s.name = text_of("VGPU_NAME", s.name);
  s.memory = static_cast<size_t>(number_of("VGPU_MEMORY", static_cast<long long>(s.memory)));
  s.context = static_cast<size_t>(number_of("VGPU_CONTEXT", 0));
  std::sscanf(text_of("VGPU_CAPABILITY", "8.0").c_str(), "%d.%d", &s.major, &s.minor);
  auto count = [](const char* name, int fallback) { return static_cast<int>(number_of(name, fallback)); };
  s.multiprocessors = count("VGPU_MULTIPROCESSORS", s.multiprocessors);
  s.l2 = count("VGPU_L2", s.l2);
  s.bus_bits = count("VGPU_BUS_BITS", s.bus_bits);
  s.clock = count("VGPU_CLOCK", s.clock);
  s.memory_clock = count("VGPU_MEMORY_CLOCK", s.memory_clock);
  s.cards = std::clamp(count("VGPU_CARDS", s.cards), 0, 64);
  s.visible = visible_of(s.cards);
  s.cuda = count("VGPU_CUDA", s.cuda);
  s.cudnn = count("VGPU_CUDNN", s.cudnn);
  s.cublas = count("VGPU_CUBLAS", s.cublas);
  s.nccl = count("VGPU_NCCL", s.nccl);
  s.report = text_of("VGPU_REPORT", "");
  return s;
}

}  // namespace

long long number_of(const char* name, long long fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoll(text, nullptr, 10) : fallback;
}

const Settings& settings() {
  static const Settings* const s = new Settings(from_environment());  // the report at the end of a process needs it
  return *s;
}

}  // namespace virtualgpu
