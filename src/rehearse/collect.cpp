#include "rehearse/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "train/words.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

Bytes bytes(const json& o, const char* key) { return Bytes(o.value(key, std::uint64_t{0})); }

RehearsedStep step_of(const json& j) {
  RehearsedStep s{bytes(j, "allocated"), bytes(j, "reserved"), {}};
  const json phases = j.value("phases", json::object());
  for (const char* name : {"forward", "backward", "optimizer"})
    if (phases.contains(name))
      s.phases.push_back({name, bytes(phases.at(name), "allocated"), bytes(phases.at(name), "reserved")});
  return s;
}

// What the hook calls it, and what it is here.
constexpr Word<Phase> kDuring[]{{"forward or setup", Phase::forward},
                                {"backward", Phase::backward},
                                {"recompute", Phase::recompute},
                                {"optimizer", Phase::optimizer}};
constexpr Word<Category> kKinds[]{{"weights", Category::parameter},
                                  {"gradients", Category::gradient},
                                  {"optimizer states", Category::optimizer_state},
                                  {"activations", Category::activation},
                                  {"recomputed activations", Category::recomputed_activation},
                                  {"activation gradients", Category::activation_gradient},
                                  {"temporaries", Category::temporary}};

Timeline timeline_in(const json& j) {
  Timeline t;
  if (!j.is_object()) return t;
  t.events = j.value("events", std::size_t{0});
  for (const json& s : j.value("samples", json::array())) {
    TimelineSample sample;
    sample.event = s.value("event", std::size_t{0});
    sample.phase = value_of(kDuring, s.value("during", std::string())).value_or(Phase::forward);
    sample.live = bytes(s, "live");
    for (const auto& [kind, size] : s.value("kinds", std::map<std::string, std::uint64_t>()))
      sample.by_category[static_cast<std::size_t>(value_of(kKinds, kind).value_or(Category::temporary))] += Bytes(size);
    t.samples.push_back(std::move(sample));
    if (t.samples.back().live > t.samples[t.peak].live) t.peak = t.samples.size() - 1;
  }
  return t;
}

void read_torch(const json& j, RehearsedProcess& p) {
  p.rank = j.value("rank", std::int64_t{0});
  p.steps = j.value("steps", std::int64_t{0});
  p.steps_on_card = j.value("steps_on_card", p.steps);
  p.ended = j.value("ended", true);
  p.missed = j.value("missed", false);
  p.torch = j.value("torch", std::string());
  p.cuda_build = j.value("cuda_build", false);
  p.out_of_memory = j.value("out_of_memory", std::string());
  for (const json& d : j.value("devices", json::array())) {
    RehearsedDevice device;
    device.device = d.value("device", 0);
    device.allocated = bytes(d, "allocated");
    device.reserved = bytes(d, "reserved");
    device.inactive_split = bytes(d, "inactive_split");
    device.retries = d.value("retries", std::int64_t{0});
    device.refusals = d.value("ooms", std::int64_t{0});
    for (const json& s : d.value("steps", json::array())) device.steps.push_back(step_of(s));
    p.devices.push_back(std::move(device));
  }
  for (const json& r : j.value("reads", json::array()))
    p.reads.push_back({r.value("place", std::string()), r.value("count", std::int64_t{0})});
  p.timeline = timeline_in(j.value("timeline", json()));
  p.assumptions = j.value("assumed", std::vector<std::string>());
  for (const json& r : j.value("places", json::array()))
    p.places.push_back({r.value("kind", std::string()), r.value("place", std::string()),
                        r.value("during", std::string()), bytes(r, "bytes"), r.value("count", std::int64_t{0})});
}

void read_device(const json& j, Bytes context, RehearsedProcess& p) {
  p.zero_reads = j.value("zero_reads", std::int64_t{0});
  p.unanswered = j.value("stubs", std::map<std::string, std::int64_t>());
  p.workspaces = j.value("workspaces", std::map<std::string, std::int64_t>());
  p.command = j.value("command", std::vector<std::string>());
  int index = 0;
  for (const json& c : j.value("cards", json::array())) {
    const int number = index++;
    const auto known =
        std::find_if(p.devices.begin(), p.devices.end(), [&](const RehearsedDevice& d) { return d.device == number; });
    const Bytes peak = bytes(c, "peak");
    if (known != p.devices.end()) {
      known->device_used = peak;
      known->collectives = bytes(c, "collectives");
    } else if (peak > context || bytes(c, "refused") > Bytes()) {  // by something other than PyTorch
      p.devices.emplace_back();
      p.devices.back().device = number;
      p.devices.back().device_used = peak;
      p.devices.back().refusals = c.value("refused", std::int64_t{0});
    }
  }
}

}  // namespace

std::vector<RehearsedProcess> collect_reports(const std::string& folder, Bytes context,
                                              std::vector<std::string>& warnings) {
  std::map<std::int64_t, RehearsedProcess> found;
  std::vector<fs::path> files;
  for (const auto& f : fs::directory_iterator(folder)) files.push_back(f.path());
  std::sort(files.begin(), files.end(), std::greater<>());  // of a process, PyTorch's before the device's
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    const bool torch = name.ends_with(".torch.json");
    if (!torch && !name.ends_with(".device.json")) continue;
    try {
      std::ifstream in(file);
      const json j = json::parse(in);
      RehearsedProcess& p = found[std::stoll(name)];
      p.pid = std::stoll(name);
      if (torch)
        read_torch(j, p);
      else
        read_device(j, context, p);
    } catch (const std::exception& e) {
      warnings.push_back(fmt::format("the report {} of a process is damaged: {}", name, e.what()));
    }
  }
  std::vector<RehearsedProcess> out;
  for (auto& [pid, p] : found) {
    std::erase_if(p.devices, [&](const RehearsedDevice& d) {
      return d.reserved == Bytes() && d.device_used <= context && d.refusals == 0;
    });
    out.push_back(std::move(p));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const RehearsedProcess& a, const RehearsedProcess& b) { return a.rank < b.rank; });
  return out;
}

}  // namespace vramplan
