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

/// Writes the file. Throws UserError when it cannot be written, or where the program was built without libxlsxwriter.
void write_xlsx(const Workbook& book, const std::string& path);

}  // namespace vramplan
