// Text for people: the verdict first, then the number, then the breakdown, then what to do.
#pragma once
#include <string>
#include <vector>

#include "validate/validate.h"
#include "vramplan/estimate/estimate.h"
#include "vramplan/estimate/explain.h"

namespace vramplan {

struct TextStyle {
  bool colour = false;
  bool utf8 = true;
  ByteUnit unit = ByteUnit::automatic;  ///< of an estimate's table
};

/// Rows of cells in aligned columns; columns named in `right` (by position) are right-aligned.
class Table {
 public:
  explicit Table(std::vector<bool> right) : right_(std::move(right)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string str(std::string_view indent = "  ") const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

/// The model and how it is run, in a line.
std::string job_line(const Estimate& e);
std::string estimate_table(const Estimate& e, const TextStyle& style);
std::string explain_table(const Explanation& e);
std::string validate_table(const std::vector<ValidatedGroup>& groups);

}  // namespace vramplan
