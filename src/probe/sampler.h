// Looks at the cards while a command runs: the memory of each device often, the lists of processes seldom (they hold a
// lock of the driver). Jittered, so that it does not keep step with the program; it takes at most about a hundredth of
// a core.
#pragma once
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "probe/nvml.h"

namespace vramplan {

/// Whose the processes were that the driver listed.
enum class PidMatch {
  none,         ///< nothing of ours was seen: only the device's figures tell
  same,         ///< by their numbers, which are ours
  new_entries,  ///< numbers of another namespace: those that were not there before
};

struct SampledCard {
  std::string name;
  Bytes total;
  std::optional<Bytes> before;   ///< used before the command started
  std::optional<Bytes> highest;  ///< used at most; nothing: the driver does not tell
  Bytes ours;                    ///< our processes' sum at most
  std::set<std::int64_t> pids;   ///< of ours that were seen on it
  bool others = false;           ///< processes of others came or went, or changed what they hold
  Bytes largest_jump;            ///< of used, from one sample to the next
  std::size_t samples = 0, process_samples = 0;
  double longest_gap = 0;  ///< seconds between two samples of used
  PidMatch match = PidMatch::none;
};

struct SamplerPeriods {
  double memory = 0.004, processes = 0.15;  ///< seconds
};

class Sampler {
 public:
  /// Looks once before the command starts. Throws UserError as `Nvml` does.
  explicit Sampler(const SamplerPeriods& periods = {});
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  /// Looks a last time; what was seen of each card.
  std::vector<SampledCard> stop();
  const Nvml& nvml() const { return nvml_; }
  /// Which device stop()'s i-th is.
  const NvmlDevice& device(std::size_t i) const { return devices_[i]; }

 private:
  void run();
  void look_at_memory();
  void look_at_processes();

  Nvml nvml_;
  std::vector<NvmlDevice> devices_ = nvml_.devices();
  SamplerPeriods periods_;
  std::vector<SampledCard> cards_;
  std::vector<std::map<std::int64_t, Bytes>> before_;  ///< by card: processes that were there
  std::vector<Bytes> last_;                            ///< used, at the last sample
  std::vector<double> last_time_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace vramplan
