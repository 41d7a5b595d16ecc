#include "read/calibration.h"

#include "read/json_object.h"

namespace vramplan {
namespace {

double share(const JsonObject& o, std::string_view key, double otherwise) {
  const double v = o.number_or(key, otherwise);
  if (!(v > 0 && v <= 1)) o.fail(key, "a share of the peak is above 0 and at most 1", "for example 0.7");
  return v;
}

void all_read(const JsonObject& o) {
  const auto unread = o.unread();
  if (!unread.empty())
    o.fail(unread[0], "is not a part of a calibration",
           "known: context_bytes, launch_us, efficiency.matrix, efficiency.attention, efficiency.memory");
}

}  // namespace

Calibration read_calibration(std::string_view text, const std::string& where) {
  const nlohmann::ordered_json json = parse_json(text, where);
  const JsonObject file(json, where);
  Calibration c;
  c.origin = where;
  if (file.has("context_bytes")) {
    const std::int64_t n = file.integer("context_bytes");
    if (n < 0) file.fail("context_bytes", "a context of less than nothing");
    c.context = Bytes(static_cast<std::uint64_t>(n));
  }
  c.efficiency.launch_us = file.number_or("launch_us", c.efficiency.launch_us);
  if (!(c.efficiency.launch_us >= 0 && c.efficiency.launch_us < 1e6))
    file.fail("launch_us", "microseconds of a launch are 0 or more");
  if (file.has("efficiency")) {
    const JsonObject e = file.object("efficiency");
    c.efficiency.matrix = share(e, "matrix", c.efficiency.matrix);
    c.efficiency.attention = share(e, "attention", c.efficiency.attention);
    c.efficiency.memory = share(e, "memory", c.efficiency.memory);
    all_read(e);
  }
  if (file.has("measured"))
    (void)file.raw("measured");  // peaks beside which people set an estimate; nothing follows of them
  all_read(file);
  return c;
}

}  // namespace vramplan
