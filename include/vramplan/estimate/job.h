// A question: which model, how it is run, on which card. Plain data.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vramplan/hardware/calibration.h"
#include "vramplan/hardware/card.h"
#include "vramplan/model/config.h"
#include "vramplan/train/options.h"

namespace vramplan {

/// A flag that has a value, and who gave it: the command line, a job file, the environment, the defaults file.
struct GivenFlag {
  std::string flag;    ///< "--micro-batch"
  std::string value;   ///< as text; "true" for a switch; a file as {"file": its name, "content": what stands in it}
  std::string origin;  ///< "command line"
};

struct Job {
  ModelConfig model;
  TrainOptions run;
  bool usual_precision = false;       ///< nobody asked for one: on another card it is what is usual there
  bool positions_follow_seq = false;  ///< a model by its sizes: as many learned positions as the sequence is long
  std::optional<Card> card;
  Calibration calibration;
  std::string allocator;                 ///< PYTORCH_ALLOC_CONF; empty is PyTorch's default
  bool allocator_map = false;            ///< report the allocator's segments at the peak
  Bytes reserve;                         ///< kept free on the card for others
  double memory_fraction = 1;            ///< torch.cuda.set_per_process_memory_fraction
  std::vector<std::string> assumptions;  ///< values that were not given and matter, one sentence each
  std::vector<std::string> warnings;     ///< from reading the input
  std::vector<GivenFlag> given;          ///< the flags that make this job again; empty for one that was not read
};

/// Whether the job's card is NVIDIA's, as a card by its size and no card at all are taken to be.
bool on_cuda(const Job& job);
/// The longest sequence that learned positions allow beside virtual tokens; nothing where positions are not learned.
std::optional<std::int64_t> longest_allowed(const Job& job);
/// Another sequence length.
void set_seq(Job& job, std::int64_t seq);

/// What a job is trained in unless it says: bf16, or fp16 under autocast on a card without bf16 arithmetic.
Precision usual_precision(const std::optional<Card>& card);
/// The same job on another card.
void set_card(Job& job, const Card& card);
/// Whether anything in the job is multiplied in bf16.
bool computes_in_bf16(const TrainOptions& run);

/// A job that can be run: only the check makes one, and steps are run of nothing else.
class CheckedJob {
 public:
  const Job& job() const { return job_; }
  const Job* operator->() const { return &job_; }

 private:
  explicit CheckedJob(Job job) : job_(std::move(job)) {}
  friend CheckedJob check_job(Job job);
  Job job_;
};

/// Throws UserError that names the flag to change when the job cannot be run or is not modelled.
[[nodiscard]] CheckedJob check_job(Job job);
/// What the check would say; empty when the job can be run.
std::string why_not_runnable(const Job& job);

}  // namespace vramplan
