#include "read/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "read/json_object.h"
#include "read/text_file.h"
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

/// A stream to which what was read too far can be given back.
class Characters {
 public:
  static constexpr int kEnd = std::char_traits<char>::eof();
  explicit Characters(std::istream& in) : in_(in) {}
  int get() {
    if (at_ < again_.size()) return static_cast<unsigned char>(again_[at_++]);
    return in_.get();
  }
  int peek() { return at_ < again_.size() ? static_cast<unsigned char>(again_[at_]) : in_.peek(); }
  void give_back(std::string text) {
    again_ = std::move(text) + again_.substr(at_);
    at_ = 0;
  }

 private:
  std::istream& in_;
  std::string again_;
  std::size_t at_ = 0;
};

/// Why a row that goes on like this is not read further, nor what comes behind it; empty while all is well.
std::string beyond_limits(std::size_t size, int c) {
  if (c == 0) return "a zero byte, which no text has: nothing from here on is read";
  if (size <= kLargestRow) return "";
  return fmt::format("a row of more than {} MiB: nothing from here on is read", kLargestRow >> 20);
}

class CsvRows final : public RowReader {
 public:
  CsvRows(std::istream& in, const std::string& where) : in_(in) {
    // The delimiter is that of which the header has more.
    std::string first, error;
    for (int c = in_.get(); c != Characters::kEnd && error.empty(); c = c == '\n' ? Characters::kEnd : in_.get()) {
      first += static_cast<char>(c);
      error = beyond_limits(first.size(), c);
    }
    if (!error.empty()) throw UserError(error, where, "give CSV with a header, a JSON array, or JSON lines");
    semicolons_ = std::count(first.begin(), first.end(), ';') > std::count(first.begin(), first.end(), ',');
    in_.give_back(std::move(first));
    std::vector<std::string> header;
    record(header, error);
    if (!error.empty())
      throw UserError(error, where, "the first line names each column once: model,gpu,micro-batch,seq");
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
  /// One record, quotes taken off; false at the end of the file.
  bool record(std::vector<std::string>& cells, std::string& error) {
    cells.assign(1, {});
    if (ended_ || in_.peek() == Characters::kEnd) return false;
    const char separator = semicolons_ ? ';' : ',';
    std::string raw;
    bool quoted = false, was_quoted = false;
    for (int c = in_.get(); c != Characters::kEnd; c = in_.get()) {
      raw += static_cast<char>(c);
      error = beyond_limits(raw.size(), c);
      if (!error.empty()) break;
      std::string& cell = cells.back();
      if (quoted) {
        if (c != '"')
          cell += static_cast<char>(c);
        else if (in_.peek() == '"')
          cell += static_cast<char>(in_.get()), raw += '"';
        else
          quoted = false;
      } else if (c == '"' && cell.empty() && !was_quoted) {
        quoted = was_quoted = true;
      } else if (c == separator) {
        cells.emplace_back();
        was_quoted = false;
      } else if (c == '\n') {
        return true;
      } else if (c != '\r' || in_.peek() != '\n') {
        cell += static_cast<char>(c);
      }
    }
    const std::size_t line_end = raw.find('\n');
    if (quoted && line_end != std::string::npos && raw.back() != '\0') {  // the lines that the quote swallowed are rows
      in_.give_back(raw.substr(line_end + 1));
      error.clear();
    }
    ended_ = !error.empty();
    if (quoted && error.empty()) error = "a quote is not closed";
    return true;
  }

  /// A decimal comma, where the semicolon separates.
  std::string value(std::string cell) const {
    const bool number = !cell.empty() && cell.find_first_not_of("0123456789,-") == std::string::npos;
    if (semicolons_ && number && std::count(cell.begin(), cell.end(), ',') == 1)
      std::replace(cell.begin(), cell.end(), ',', '.');
    return cell;
  }

  Characters in_;
  bool semicolons_ = false, ended_ = false;
  std::vector<std::string> columns_;
};

/// Objects one after the other, whatever stands between them: an array's commas or the ends of lines. A line that
/// begins with a brace begins an object, also where the one before is not closed.
class JsonRows final : public RowReader {
 public:
  explicit JsonRows(std::istream& in) : in_(in) {}

  bool next(InputRow& row) override {
    row = {};
    std::string text;
    if (ended_ || !object(text, row.error)) return false;
    if (row.error.empty()) read(text, row);
    return true;
  }

 private:
  /// The text of the next object, found by its braces; what is no object is an error of its own.
  bool object(std::string& text, std::string& error) {
    int c = in_.get();
    while (c != Characters::kEnd && std::string_view(" \t\r\n,[]").find(static_cast<char>(c)) != std::string_view::npos)
      c = in_.get();
    if (c == Characters::kEnd) return false;
    if (c == '{')
      braces(text, error);
    else
      skip(c, error);
    return true;
  }

  /// What is no object, up to the next that may be one.
  void skip(int c, std::string& error) {
    std::size_t size = 0;
    for (; c != Characters::kEnd && c != ',' && c != '\n' && c != ']' && !ended_; c = in_.get()) {
      error = beyond_limits(++size, c);
      ended_ = !error.empty();
    }
    if (!ended_) error = "not an object of flags";
  }

  /// From behind an opening brace to the one that closes it.
  void braces(std::string& text, std::string& error) {
    text = "{";
    int depth = 1;
    bool in_string = false, escaped = false;
    while (depth > 0 && error.empty()) {
      const int c = in_.get();
      if (c == Characters::kEnd) {
        error = "the file ends within an object";
        return;
      }
      text += static_cast<char>(c);
      error = beyond_limits(text.size(), c);
      ended_ = !error.empty();
      if (c == '\n' && (in_string || in_.peek() == '{'))
        error = in_string ? "a text is not closed where its line ends" : "a brace is not closed before the next object";
      if (in_string) {
        in_string = escaped || c != '"';
        escaped = !escaped && c == '\\';
        continue;
      }
      in_string = c == '"';
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
  }

  static void read(const std::string& text, InputRow& row) {
    if (!nlohmann::ordered_json::accept(text)) {
      row.error = "not valid JSON";
      return;
    }
    try {
      const auto json = parse_json(text, "");
      std::set<std::string> names;
      for (const auto& [key, value] : json.items()) read(key, value, names, row);
    } catch (const UserError& e) {  // a key that stands twice
      row.error = e.what();
    }
  }

  static void read(const std::string& key, const nlohmann::ordered_json& value, std::set<std::string>& names,
                   InputRow& row) {
    const std::string name = column_name(key);
    if (!names.insert(name).second) throw UserError(fmt::format("'{}' stands twice in one object", name));
    if (value.is_structured()) throw UserError(fmt::format("'{}' is not a single value", key));
    if (!value.is_null())
      row.cells.emplace_back(name, value.is_string() ? value.template get<std::string>() : value.dump());
  }

  Characters in_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<RowReader> open_rows(std::istream& in, const std::string& where) {
  for (const int byte : {0xEF, 0xBB, 0xBF})  // a byte order mark
    if (in.peek() == byte) in.get();
  while (in.peek() == ' ' || in.peek() == '\n' || in.peek() == '\r' || in.peek() == '\t') in.get();
  const int first = in.peek();
  if (first == std::char_traits<char>::eof())
    throw UserError("no jobs", where, "give CSV with a header, a JSON array, or JSON lines");
  if (first == '{' || first == '[') return std::make_unique<JsonRows>(in);
  return std::make_unique<CsvRows>(in, where);
}

}  // namespace vramplan
