#include "read/allocator_trace.h"

#include "read/json_object.h"

namespace vramplan {
namespace {

Bytes bytes(const JsonObject& o, std::string_view key) {
  const std::int64_t n = o.integer(key);
  if (n < 0) o.fail(key, "bytes cannot be negative");
  return Bytes(static_cast<std::uint64_t>(n));
}

double fraction(const JsonObject& o) {
  const double f = o.number_or("fraction", 0);
  if (!(f >= 0 && f <= 1)) o.fail("fraction", "a share of the card lies between 0 and 1");
  return f;
}

/// Releases must name what is alive.
std::vector<std::int64_t> events(const JsonObject& o) {
  const auto& list = o.raw("events");
  if (!list.is_array()) o.fail("events", "expected a list of whole numbers");
  std::vector<std::int64_t> out;
  std::vector<bool> alive;
  for (const auto& e : list) {
    if (!e.is_number_integer()) o.fail("events", "expected a list of whole numbers");
    out.push_back(e.get<std::int64_t>());
    if (out.back() >= 0) {
      alive.push_back(true);
      continue;
    }
    const auto id = static_cast<std::size_t>(-(out.back() + 1));
    if (id >= alive.size() || !alive[id]) o.fail("events", "something is released that is not there");
    alive[id] = false;
  }
  return out;
}

}  // namespace

bool is_allocator_trace(std::string_view line) {
  return line.find("\"segments\":") != std::string_view::npos && line.find("\"results\":") == std::string_view::npos;
}

AllocatorTrace read_allocator_trace(std::string_view line, const std::string& where) {
  const auto value = parse_json(line, where);
  const JsonObject o(value, where);
  return {o.text("id"),
          o.text("conf"),
          bytes(o, "capacity"),
          fraction(o),
          events(o),
          bytes(o, "peak_allocated"),
          bytes(o, "peak_reserved"),
          bytes(o, "end_allocated"),
          bytes(o, "end_reserved"),
          o.integer("retries")};
}

}  // namespace vramplan
