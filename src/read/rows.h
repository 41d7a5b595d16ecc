// Jobs of a table, one after the other: CSV with a header of flag names, a JSON array of objects, or JSON lines.
// Nothing is held but the row at hand.
#pragma once
#include <istream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vramplan {

struct InputRow {
  std::vector<std::pair<std::string, std::string>> cells;  ///< name and value; empty and null ones are left out
  std::string error;                                       ///< why the row cannot be read; empty otherwise
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  /// False at the end.
  virtual bool next(InputRow& row) = 0;
  /// Names of the columns, where the file says them before its rows.
  virtual std::vector<std::string> columns() const { return {}; }
};

/// Told apart by the first character: { and [ begin JSON. CSV may have a byte order mark, CRLF, quotes, and the
/// semicolons and decimal commas of European spreadsheets. Throws UserError at `where` for an empty file or header.
std::unique_ptr<RowReader> open_rows(std::istream& in, const std::string& where);

}  // namespace vramplan
