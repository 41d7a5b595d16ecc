// An estimate as one row: stable names of columns, bytes as integers and again in GiB, for spreadsheets.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "vramplan/estimate/estimate.h"

namespace vramplan {

std::vector<std::string> flat_columns();
/// Values in the order of flat_columns(); null where there is none.
std::vector<nlohmann::ordered_json> flat_values(const Estimate& e);

std::string flat_csv_header();
std::string flat_csv_row(const std::vector<nlohmann::ordered_json>& values);
/// The row as a document.
std::string flat_json(const Estimate& e);
/// An object with all columns.
nlohmann::ordered_json flat_object(const std::vector<nlohmann::ordered_json>& values);

}  // namespace vramplan
