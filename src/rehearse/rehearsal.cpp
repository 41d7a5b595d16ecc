#include "rehearse/rehearsal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "estimate/capacity.h"
#include "estimate/overhead.h"
#include "rehearse/child.h"
#include "rehearse/collect.h"
#include "rehearse/evidence.h"
#include "rehearse/workplace.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libvramplan-virtualgpu.so";

/// The folder of the virtual GPU: as given, beside the program in a build, below lib/ when installed.
fs::path library_folder(const std::string& given) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& folder : {fs::path(given), program / "virtualgpu", program / ".." / "lib" / "vramplan"})
    if (fs::exists(folder / kLibrary)) return fs::canonical(folder);
  throw UserError(
      "the virtual GPU is not installed", "rehearse",
      fmt::format("build the target 'virtualgpu', or put {} into {}", kLibrary, (program / "virtualgpu").string()));
}

/// kHz: two transfers a period, of a bit on each line of the bus.
long long memory_clock(const Card& c) {
  return c.bus_bits > 0 ? std::llround(c.bandwidth_gbs * 8e6 / 2 / c.bus_bits) : 0;
}

std::map<std::string, std::string> environment_of(const Job& job, const RehearsalOptions& o, const Rehearsal& r,
                                                  const fs::path& library, const std::string& workplace) {
  const Card& c = *job.card;
  const int capability = c.compute_capability > 0 ? c.compute_capability : 80;
  std::map<std::string, std::string> e{{"LD_PRELOAD", prepended((library / kLibrary).string(), "LD_PRELOAD")},
                                       {"LD_LIBRARY_PATH", prepended(library.string(), "LD_LIBRARY_PATH")},
                                       {"PYTHONPATH", prepended(workplace, "PYTHONPATH")},
                                       {"VGPU_REPORT", workplace},
                                       {"VGPU_NAME", c.name},
                                       {"VGPU_MEMORY", std::to_string(r.counters.capacity.count())},
                                       {"VGPU_CONTEXT", std::to_string(r.context.count())},
                                       {"VGPU_CAPABILITY", fmt::format("{}.{}", capability / 10, capability % 10)},
                                       {"VGPU_MULTIPROCESSORS", std::to_string(c.multiprocessors)},
                                       {"VGPU_CARDS", std::to_string(o.cards)},

                                       {"VRAMPLAN_STEPS", std::to_string(o.steps)},
                                       {"VRAMPLAN_PLACES", o.places ? "1" : "0"},
                                       {"VRAMPLAN_PADDED", o.padded ? "1" : "0"},
                                       {"VRAMPLAN_ROUTING", word_for(kRoutings, o.routing)}};
  for (const auto& [name, value] : {std::pair{"VGPU_L2", static_cast<long long>(c.l2.count())},
                                    {"VGPU_BUS_BITS", c.bus_bits},
                                    {"VGPU_CLOCK", c.clock_mhz * 1000LL},
                                    {"VGPU_MEMORY_CLOCK", memory_clock(c)}})
    if (value > 0) e[name] = std::to_string(value);  // else the virtual GPU keeps an A100's
  if (o.world > 1) {
    e["RANK"] = e["LOCAL_RANK"] = "0";
    e["WORLD_SIZE"] = e["LOCAL_WORLD_SIZE"] = e["VRAMPLAN_WORLD"] = std::to_string(o.world);
    // Asked for by launchers' libraries (DeepSpeed); nobody is called there.
    if (!std::getenv("MASTER_ADDR")) e["MASTER_ADDR"] = "127.0.0.1";
    if (!std::getenv("MASTER_PORT")) e["MASTER_PORT"] = "29500";
  }
  if (!job.allocator.empty()) e["PYTORCH_ALLOC_CONF"] = e["PYTORCH_CUDA_ALLOC_CONF"] = job.allocator;
  return e;
}

/// For calls of which it is known what fails without an answer.
std::string_view way_around(std::string_view call) {
  if (call.starts_with("cudnnGetRNN"))
    return ": recurrent layers of cuDNN can't be rehearsed; torch.backends.cudnn.enabled = False takes PyTorch's own";
  return "";
}

/// A call's name begins with its library's.
std::string_view library_of(std::string_view call) {
  for (const auto& [prefix, library] :
       {std::pair{"cudnn", "cuDNN"}, {"cufft", "cuFFT"}, {"cusolver", "cuSOLVER"}, {"cusparse", "cuSPARSE"}})
    if (call.starts_with(prefix)) return library;
  return "a CUDA library";
}

/// Several ranks, one of which failed of something else than memory.
bool ranks_disagreed(const Rehearsal& r) {
  return r.status != 0 && r.processes.size() > 1 &&
         std::all_of(r.processes.begin(), r.processes.end(),
                     [](const RehearsedProcess& p) { return p.out_of_memory.empty(); });
}

void warn(Rehearsal& r) {
  if (ranks_disagreed(r))
    r.warnings.push_back(
        "ranks send each other what they uploaded; what their cards would have computed is zero in all of them, and a "
        "program that compares it fails: try rank 0 of N in one process, --world N -- python ...");
  std::map<int, int> users;
  std::map<std::string, std::int64_t> unanswered, reads;
  std::set<std::string> sized;
  for (const RehearsedProcess& p : r.processes) {
    r.assumptions.insert(p.assumptions.begin(), p.assumptions.end());
    for (const RehearsedDevice& d : p.devices) ++users[d.device];
    for (const RehearsedRead& read : p.reads) reads[read.place] += read.count;
    for (const auto& [name, times] : p.unanswered) unanswered[name] += times;
    for (const auto& [name, times] : p.workspaces) sized.insert(std::string(library_of(name)));
  }
  for (const auto& [device, processes] : users)
    if (processes > 1)
      r.warnings.push_back(fmt::format("{} processes use device {}: the figures are of each alone", processes, device));
  for (const auto& [place, times] : reads)
    r.warnings.push_back(
        fmt::format("{} reads from the card ({} times) and gets zeros: what depends on it may differ", place, times));
  for (const auto& [name, times] : unanswered)
    r.warnings.push_back(
        fmt::format("{} was called {} times and has no answer here, so it failed{}", name, times, way_around(name)));
  if (!sized.empty())
    r.warnings.push_back(fmt::format("workspaces of {} are counted as 0 bytes: how large they are is not known here",
                                     fmt::join(sized, ", ")));
}

/// The worst device decides.
void judge(Rehearsal& r, const Job& job, bool strict) {
  const auto worst = worst_device(r);
  const bool refused = std::any_of(r.processes.begin(), r.processes.end(),
                                   [](const RehearsedProcess& p) { return !p.out_of_memory.empty(); });
  if (!refused) r.missing = missing_evidence(r, strict);
  if (!worst) return;
  r.counters.allocated = worst->device->allocated;
  r.counters.reserved = worst->device->reserved;
  r.counters.device_used = worst->device->device_used;
  r.worst_rank = worst->process->rank;
  r.margin = static_cast<std::int64_t>(r.counters.capacity.count()) -
             static_cast<std::int64_t>(r.counters.device_used.count());
  std::uint64_t doubt = worst->device->collectives.count();  // twice and half as much were seen
  for (const UncertaintyPart& part : uncertainty_parts(job)) doubt += part.bytes.count();
  r.verdict = refused                                       ? Verdict::does_not_fit
              : !r.missing.empty()                          ? Verdict::unknown
              : r.margin < static_cast<std::int64_t>(doubt) ? Verdict::tight
                                                            : Verdict::fits;
}

}  // namespace

std::optional<WorstDevice> worst_device(const Rehearsal& r) {
  std::optional<WorstDevice> found;
  for (const RehearsedProcess& p : r.processes)
    for (const RehearsedDevice& d : p.devices)
      if (!found || d.device_used > found->device->device_used) found = WorstDevice{&p, &d};
  return found;
}

Rehearsal rehearse(const Job& job, const RehearsalOptions& options, const HookFiles& hook,
                   const std::vector<Card>& cards) {
  if (!job.card) throw UserError("no card to rehearse on", "--gpu", "for example --gpu h100-sxm", Exit::usage);
  if (job.card->compute_capability == 0 && !job.card->vendor.empty())
    throw UserError(fmt::format("{} is no CUDA card", job.card->name), "--gpu", "rehearse on an NVIDIA card");
  Rehearsal r;
  r.command = options.command;
  r.card = *job.card;
  r.cards = options.cards;
  r.context = overhead_of(job).context;
  r.counters.capacity = capacity_of(job, r.context);
  const fs::path library = library_folder(options.library);
  const Workplace workplace(hook);
  r.status = run_child(options.command, environment_of(job, options, r, library, workplace.path()));
  r.processes = collect_reports(workplace.path(), r.context, r.warnings);
  judge(r, job, options.strict);
  warn(r);
  if (r.verdict == Verdict::fits || r.verdict == Verdict::tight)
    for (const Card& c : cuda_cards(cards))
      if (!r.smallest && c.usable >= r.counters.device_used + job.reserve) r.smallest = c;
  return r;
}

}  // namespace vramplan
