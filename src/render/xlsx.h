// A workbook with live formulas: inputs by name, closed forms over them, the curve over N with a chart, the cards with
// a verdict, the jobs, notes. Every formula carries its value, so that readers that do not compute show it too.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "vramplan/plan/plan.h"

namespace vramplan {

struct Workbook {
  Estimate estimate;                                      ///< of the job that the inputs describe
  std::vector<Card> cards;                                ///< of the list to choose from
  std::vector<std::vector<nlohmann::ordered_json>> jobs;  ///< flat_values of each
  std::string command;                                    ///< that made it
  std::string version;
};

/// The bytes of the file, the same for the same workbook: its date of creation is SOURCE_DATE_EPOCH of the environment,
/// or that of the first archive. Throws UserError when it cannot be made, or where the program was built without
/// libxlsxwriter.
std::string xlsx_of(const Workbook& book);

}  // namespace vramplan
