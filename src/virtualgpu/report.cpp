// At the end of a process, or when asked: what its cards held at most and what was asked of them, as one JSON file in
// the folder that VGPU_REPORT names.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "virtualgpu/memory.h"
#include "virtualgpu/settings.h"
#include "virtualgpu/stubs.h"
#include "virtualgpu/values.h"

using namespace virtualgpu;

namespace {

/// "key":{"call":times, ...}, of the calls of one kind that were reached.
void write_stubs(std::FILE* out, const char* key, Stub::Kind kind) {
  std::fprintf(out, ",\"%s\":{", key);
  const char* between = "";
  for (const Stub* s = reached_stubs(); s; s = s->next)
    if (s->kind == kind) {
      std::fprintf(out, "%s\"%s\":%u", between, s->name, s->times.load());
      between = ",";
    }
  std::fprintf(out, "}");
}

/// The words of this process's command line as a JSON list; what is not ASCII is shown as a question mark.
void write_command(std::FILE* out) {
  std::fprintf(out, ",\"command\":[");
  std::FILE* const in = std::fopen("/proc/self/cmdline", "r");
  bool within = false, first = true;
  for (int c = in ? std::fgetc(in) : EOF; c != EOF; c = std::fgetc(in)) {
    if (!within) std::fprintf(out, "%s\"", first ? "" : ",");
    first = false;
    within = c != 0;
    if (c == 0)
      std::fputc('"', out);
    else if (c == '"' || c == '\\')
      std::fprintf(out, "\\%c", c);
    else
      std::fputc(c < 32 || c > 126 ? '?' : c, out);
  }
  if (in) std::fclose(in);
  std::fprintf(out, "%s]", within ? "\"" : "");
}

}  // namespace

/// Writes PID.device.json; a later call overwrites it.
VGPU_EXPORT void vgpu_write_report() {
  if (settings().report.empty()) return;
  const std::string path = settings().report + "/" + std::to_string(getpid()) + ".device.json";
  std::FILE* const out = std::fopen((path + ".part").c_str(), "w");
  if (!out) return;
  std::fprintf(out, "{\"launches\":%zu,\"zero_reads\":%zu,\"cards\":[", launches(), reads_of_zeros());
  for (int i = 0; i < Memory::instance().cards(); ++i) {
    const CardMemory c = Memory::instance().card(i);
    std::fprintf(out, "%s{\"total\":%zu,\"used\":%zu,\"peak\":%zu,\"refused\":%zu,\"collectives\":%zu}", i ? "," : "",
                 c.total, c.used, c.peak, c.refused, c.collectives);
  }
  std::fprintf(out, "]");
  write_stubs(out, "stubs", Stub::Kind::unanswered);
  write_stubs(out, "workspaces", Stub::Kind::workspace);
  write_command(out);
  std::fprintf(out, "}\n");
  std::fclose(out);
  std::rename((path + ".part").c_str(), path.c_str());
}

VGPU_EXPORT void vgpu_on_zero_read(void (*f)(size_t bytes)) { on_zero_read(f); }
VGPU_EXPORT size_t vgpu_launches() { return launches(); }
VGPU_EXPORT size_t vgpu_peak(int card) { return is_card(card) ? Memory::instance().card(card).peak : 0; }

namespace {

/// A process that launched nothing and reached no stub did not use the card.
struct AtExit {
  ~AtExit() {
    if (launches() > 0 || reached_stubs()) vgpu_write_report();
  }
};
const AtExit at_exit;

}  // namespace
