// Cells of CSV: quoted where they must be, and never run by a spreadsheet.
#pragma once
#include <string>
#include <string_view>

namespace vramplan {

/// A text as a cell. What begins with = + - @ is written after a quote mark, so that it is shown and not computed.
inline std::string csv_text(std::string_view text) {
  std::string cell(text);
  if (!cell.empty() && std::string_view("=+-@\t\r").find(cell[0]) != std::string_view::npos) cell.insert(0, "'");
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace vramplan
