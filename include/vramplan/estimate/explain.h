// The textbook formulas with the user's numbers put in, next to what the program found. Closed forms are shown and
// checked, never the source of an estimate.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "vramplan/estimate/job.h"

namespace vramplan {

struct FormulaRow {
  std::string name;     ///< stable: "fixed", "simple", "simple segments", "layer", "layers", "boundaries" ...
  std::string formula;  ///< in the symbols of the field
  std::string numbers;  ///< the same with numbers
  Bytes value;
  std::optional<Bytes> found;  ///< what the program found for the same thing
  std::string why;             ///< why the two differ, or what the row leaves out
};

/// A cost as a share of the step without recomputation: 0.33 is a third more.
struct ShareRow {
  std::string name;     ///< stable: "flops", "time", "throughput"
  std::string formula;  ///< of the textbook
  std::string numbers;
  double value = 0;  ///< of the formula
  double found = 0;  ///< of the whole step, as the program has it
  std::string why;
};

struct Explanation {
  Job job;
  std::int64_t parameters = 0;
  std::vector<FormulaRow> rows;
  std::vector<ShareRow> recompute;  ///< what it costs
};

/// Throws as `estimate` does.
Explanation explain(const Job& job);

// ---- closed forms: sizes in elements, results in bytes, checked ----

/// 2P + 2P + 12P: 16-bit weights and gradients, fp32 master weights and two Adam states.
Bytes fixed_mixed(std::int64_t parameters);
/// L b s h p: one hidden state a layer.
Bytes simple_activations(std::int64_t layers, std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t p);
/// (N + 1) boundaries and 2 layers of one hidden state each.
Bytes simple_segments(std::int64_t n, std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t p);
/// Korthikanti et al. 2022, equation 1: s b h (34 + 5 a s / h), 16-bit activations with dropout.
Bytes korthikanti_layer(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t a);
/// (N + 1) b s h p: segment inputs and the last output.
Bytes boundaries(std::int64_t n, std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t p);

}  // namespace vramplan
