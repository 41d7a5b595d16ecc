// Golden files in, error per group out. A case counts as exact when every instant of both steps equals PyTorch's to the
// byte, requested and rounded; what is not expressed yet is counted, never hidden.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "read/golden.h"
#include "vramplan/estimate/job.h"

namespace vramplan {

struct ValidatedCase {
  std::string id, not_expressed;
  bool parameters_exact = false, held_exact = false, exact = false;
  double worst = 0;                    ///< largest relative error of a tensor peak of either step, signed
  std::string worst_where;             ///< "step2.peak_backward"
  Bytes expected, found;               ///< at that instant
  std::vector<std::string> differing;  ///< rows of tensors that differ, largest first; filled on demand
};

struct ValidatedGroup {
  std::string name;
  std::size_t cases = 0, expressed = 0, parameters_exact = 0, held_exact = 0, exact = 0;
  double median = 0, p95 = 0, worst = 0, bias = 0;  ///< shares; of the worst peak of each case
  std::vector<ValidatedCase> rows;
  bool judged = true;  ///< an expressed case that is off fails `validate`; of published measurements, none does
};

/// Why cases of these groups are not expressed, and how many, the most first.
std::vector<std::pair<std::string, std::size_t>> reasons_not_expressed(const std::vector<ValidatedGroup>& groups);

ValidatedCase validate_case(const GoldenCase& g);
/// Explains a case: tensors held after forward and alive at the peak, ours against PyTorch's.
std::vector<std::string> differing_tensors(const GoldenCase& g);
/// From the flags that a row of a watched run carries. Throws UserError.
using JobOfRow = std::function<Job(const std::string& line, const std::string& where)>;

/// The groups of one file: its stem NAME for the tensor ledger, and NAME@a100.allocated, NAME@a100.reserved,
/// NAME@h100... for the counters of the caching allocator at the peak of step 2; for a file of measurements those of
/// validate/measured.h, of watched runs those of validate/watched.h, which want `job_of`. Runs on all cores.
std::vector<ValidatedGroup> validate_file(const std::string& path, const JobOfRow& job_of = {});
/// Whether every expressed case is exact to the byte, where the group is judged.
bool within_bounds(const ValidatedGroup& g);

/// A case that is off, and the tensors that make the difference.
struct WorstCase {
  std::string group;
  ValidatedCase row;  ///< with `differing`
};

/// The `n` expressed cases of the highest error that are not exact, the worst first. `files` names that of each group.
std::vector<WorstCase> worst_cases(const std::vector<ValidatedGroup>& groups, const std::vector<std::string>& files,
                                   std::size_t n);

}  // namespace vramplan
