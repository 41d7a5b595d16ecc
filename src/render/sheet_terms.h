// The closed forms as cells of a spreadsheet: named inputs, and formulas over the names with the values they have for
// this job. The figures that only the engine knows stand beside them as numbers.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "vramplan/estimate/estimate.h"
#include "vramplan/estimate/explain.h"

namespace vramplan {

struct SheetInput {
  std::string name;  ///< as formulas call it
  double value;
  std::string unit, meaning;
};

struct SheetTerm {
  std::string name;     ///< what
  std::string words;    ///< the formula in the symbols of the field
  std::string formula;  ///< over the names of inputs, and of terms above it (with blanks as underscores)
  double value;         ///< of the formula for this job, computed here
  bool bytes;           ///< else a plain number
  std::optional<double> engine;
  std::string why;  ///< how the two differ
};

std::vector<SheetInput> sheet_inputs(const Estimate& e, const Explanation& x);
/// In the order of the sheet; a term may use those above it.
std::vector<SheetTerm> sheet_terms(const Estimate& e, const Explanation& x);

/// As the engine found.
Bytes kept_by_a_layer(const Explanation& x);
/// Of the usable bytes of the card, what is kept for others.
double kept_free(const Estimate& e);

/// Activations with n segments by the closed forms, as the terms above have them: (n + 1) boundaries and the longest
/// segment's layers.
Bytes segmented_activations(const Estimate& e, Bytes layer, std::int64_t n);

/// "recompute peak" as a name: "recompute_peak".
std::string cell_name(const std::string& term);

}  // namespace vramplan
