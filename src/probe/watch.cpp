#include "probe/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "probe/process_tree.h"
#include "rehearse/child.h"
#include "rehearse/evidence.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Bytes bytes_in(const json& j, const char* key) { return Bytes(j.at(key).get<std::uint64_t>()); }

void read_torch_reports(const std::string& folder, WatchReport& r) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(".torch.json")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) try {
      std::ifstream in(file);
      const json j = json::parse(in);
      for (const json& d : j.at("devices"))
        r.torch.push_back({j.at("pid").get<std::int64_t>(), j.at("rank").get<std::int64_t>(), d.at("device").get<int>(),
                           j.at("torch").get<std::string>(), bytes_in(d, "allocated"), bytes_in(d, "reserved"),
                           d.value("retries", std::int64_t{0})});
    } catch (const std::exception& e) {
      r.warnings.push_back(
          fmt::format("the report {} of a process is damaged: {}", file.filename().string(), e.what()));
    }
}

/// JAX and TensorFlow take most of the card in one go, whatever they need.
void warn_of_preallocation(const SampledCard& c, std::vector<std::string>& warnings) {
  constexpr double kMostOfACard = 0.6, kLittle = 0.01;
  if (!c.highest || !c.before) return;
  const auto total = static_cast<double>(c.total.count()), jump = static_cast<double>(c.largest_jump.count()),
             rise = static_cast<double>(c.highest->count()) - static_cast<double>(c.before->count());
  if (jump > kMostOfACard * total && rise - jump < kLittle * total)
    warnings.push_back(fmt::format(
        "{:.0f} % of {} was taken in one go and no more after that: this looks like preallocation (JAX: "
        "XLA_PYTHON_CLIENT_PREALLOCATE=false, TensorFlow: set_memory_growth), which says nothing of the need",
        100 * jump / total, c.name));
}

void warn(WatchReport& r) {
  for (const WatchedCard& card : r.cards) {
    const SampledCard& c = card.sampled;
    warn_of_preallocation(c, r.warnings);
    if (c.match == PidMatch::new_entries)
      r.warnings.push_back(
          fmt::format("processes on {} have numbers of another namespace: those that came after the start "
                      "are taken to be the command's",
                      c.name));
    if (c.others)
      r.warnings.push_back(fmt::format("others use {} too: what the device gained is not all the command's", c.name));
  }
  if (r.left_running)
    r.warnings.push_back(
        fmt::format("{} processes of the command still run: what they take from now on is not seen", r.left_running));
}

}  // namespace

WatchReport watch(const WatchOptions& options) {
  WatchReport r;
  r.command = options.command;
  const Workplace workplace(options.hook);
  std::map<std::string, std::string> environment;
  if (!options.hook.empty()) environment["PYTHONPATH"] = prepended(workplace.path(), "PYTHONPATH");
  std::optional<Sampler> sampler;
  try {
    sampler.emplace(options.periods);
  } catch (const UserError& e) {
    r.warnings.push_back(fmt::format("only PyTorch is asked, not the driver: {}", e.what()));
  }
  const Subreaper subreaper;
  r.status = run_child(options.command, environment);
  r.left_running = descendants().size();
  if (sampler)
    for (SampledCard& c : sampler->stop()) {
      WatchedCard card{std::move(c), {}};
      for (const std::int64_t pid : card.sampled.pids) try {
          if (const auto peak = sampler->nvml().accounted_peak(sampler->device(r.cards.size()), pid))
            card.accounted[pid] = *peak;
        } catch (const UserError& e) {
          r.warnings.push_back(fmt::format("{}: {}", e.where, e.what()));
        }
      r.cards.push_back(std::move(card));
    }
  if (!options.hook.empty()) {
    read_torch_reports(workplace.path(), r);
    const std::string why = r.torch.empty() ? why_unhooked(options.command) : "";
    if (!why.empty()) r.warnings.push_back("PyTorch was not asked: " + why);
  }
  warn(r);
  return r;
}

const TorchPeak* worst_of(const WatchReport& r) {
  const auto worst = std::max_element(r.torch.begin(), r.torch.end(),
                                      [](const TorchPeak& a, const TorchPeak& b) { return a.reserved < b.reserved; });
  return worst == r.torch.end() ? nullptr : &*worst;
}

}  // namespace vramplan
