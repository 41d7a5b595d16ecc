#include "read/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "vramplan/base/error.h"

namespace vramplan {
namespace {

/// "--micro_batch" and "micro-batch" are one name.
std::string column_name(std::string name) {
  while (!name.empty() && (name.front() == '-' || name.front() == ' ')) name.erase(0, 1);
  while (!name.empty() && name.back() == ' ') name.pop_back();
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

class CsvRows final : public RowReader {
 public:
  CsvRows(std::istream& in, const std::string& where) : in_(in) {
    skip_mark();
    std::vector<std::string> header;
    std::string first;
    // The delimiter is that of which the header has more.
    const std::streampos start = in_.tellg();
    std::getline(in_, first);
    semicolons_ = std::count(first.begin(), first.end(), ';') > std::count(first.begin(), first.end(), ',');
    if (start == std::streampos(-1)) {
      header_line_ = first + "\n";
    } else {
      in_.clear();
      in_.seekg(start);
    }
    std::string error;
    record(header, error);
    std::set<std::string> seen;
    for (std::string& name : header) {
      columns_.push_back(column_name(std::move(name)));
      if (columns_.back().empty() || !seen.insert(columns_.back()).second)
        throw UserError(columns_.back().empty() ? "a column without a name"
                                                : fmt::format("two columns are called '{}'", columns_.back()),
                        where, "the first line names each column once: model,gpu,micro-batch,seq");
    }
  }

  std::vector<std::string> columns() const override { return columns_; }

  bool next(InputRow& row) override {
    row = {};
    std::vector<std::string> cells;
    do {
      if (!record(cells, row.error)) return false;
    } while (cells.size() == 1 && cells[0].empty() && row.error.empty());  // an empty line
    if (row.error.empty() && cells.size() != columns_.size())
      row.error = fmt::format("{} cells under {} columns", cells.size(), columns_.size());
    for (std::size_t i = 0; row.error.empty() && i < cells.size(); ++i)
      if (!cells[i].empty()) row.cells.emplace_back(columns_[i], value(std::move(cells[i])));
    return true;
  }

 private:
  int get() {
    if (at_ < header_line_.size()) return static_cast<unsigned char>(header_line_[at_++]);
    return in_.get();
  }
  int peek() { return at_ < header_line_.size() ? static_cast<unsigned char>(header_line_[at_]) : in_.peek(); }

  void skip_mark() {
    for (const int byte : {0xEF, 0xBB, 0xBF})
      if (in_.peek() == byte) in_.get();
  }

  /// One record, quotes taken off; false at the end of the file.
  bool record(std::vector<std::string>& cells, std::string& error) {
    cells.assign(1, {});
    if (peek() == std::char_traits<char>::eof()) return false;
    const char separator = semicolons_ ? ';' : ',';
    bool quoted = false, was_quoted = false;
    for (int c = get(); c != std::char_traits<char>::eof(); c = get()) {
      std::string& cell = cells.back();
      if (quoted) {
        if (c != '"')
          cell += static_cast<char>(c);
        else if (peek() == '"')
          cell += static_cast<char>(get());
        else
          quoted = false;
      } else if (c == '"' && cell.empty() && !was_quoted) {
        quoted = was_quoted = true;
      } else if (c == separator) {
        cells.emplace_back();
        was_quoted = false;
      } else if (c == '\n') {
        return true;
      } else if (c != '\r' || peek() != '\n') {
        cell += static_cast<char>(c);
      }
    }
    if (quoted) error = "a quote is not closed";
    return true;
  }

  /// A decimal comma, where the semicolon separates.
  std::string value(std::string cell) const {
    const bool number = !cell.empty() && cell.find_first_not_of("0123456789,-") == std::string::npos;
    if (semicolons_ && number && std::count(cell.begin(), cell.end(), ',') == 1)
      std::replace(cell.begin(), cell.end(), ',', '.');
    return cell;
  }

  std::istream& in_;
  std::string header_line_;  ///< of a stream that cannot go back, read ahead
  std::size_t at_ = 0;
  bool semicolons_ = false;
  std::vector<std::string> columns_;
};

/// Objects one after the other, whatever stands between them: an array's commas or the ends of lines.
class JsonRows final : public RowReader {
 public:
  explicit JsonRows(std::istream& in) : in_(in) {}

  bool next(InputRow& row) override {
    row = {};
    std::string text;
    if (!object(text, row.error)) return false;
    if (row.error.empty()) read(text, row);
    return true;
  }

 private:
  /// The text of the next object, found by its braces; what is no object is an error of its own.
  bool object(std::string& text, std::string& error) {
    int c = in_.get();
    while (c != std::char_traits<char>::eof() &&
           std::string_view(" \t\r\n,[]").find(static_cast<char>(c)) != std::string_view::npos)
      c = in_.get();
    if (c == std::char_traits<char>::eof()) return false;
    if (c != '{') {
      for (; c != std::char_traits<char>::eof() && c != ',' && c != '\n' && c != ']'; c = in_.get())
        ;
      error = "not an object of flags";
      return true;
    }
    int depth = 0;
    bool in_string = false, escaped = false;
    for (; c != std::char_traits<char>::eof(); c = in_.get()) {
      text += static_cast<char>(c);
      if (in_string) {
        in_string = escaped || c != '"';
        escaped = !escaped && c == '\\';
        continue;
      }
      in_string = c == '"';
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (depth == 0) break;
    }
    if (depth != 0) error = "the file ends within an object";
    return true;
  }

  static void read(const std::string& text, InputRow& row) {
    const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
    if (!json.is_object()) {
      row.error = "not valid JSON";
      return;
    }
    for (const auto& [key, value] : json.items()) {
      if (value.is_null()) continue;
      if (value.is_structured()) {
        row.error = fmt::format("'{}' is not a single value", key);
        return;
      }
      row.cells.emplace_back(column_name(key), value.is_string() ? value.template get<std::string>() : value.dump());
    }
  }

  std::istream& in_;
};

}  // namespace

std::unique_ptr<RowReader> open_rows(std::istream& in, const std::string& where) {
  while (in.peek() == ' ' || in.peek() == '\n' || in.peek() == '\r' || in.peek() == '\t') in.get();
  const int first = in.peek();
  if (first == std::char_traits<char>::eof())
    throw UserError("no jobs", where, "give CSV with a header, a JSON array, or JSON lines");
  if (first == '{' || first == '[') return std::make_unique<JsonRows>(in);
  return std::make_unique<CsvRows>(in, where);
}

}  // namespace vramplan
