#include "validate/watched.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/parallel.h"
#include "read/json_object.h"
#include "vramplan/base/error.h"
#include "vramplan/estimate/estimate.h"

namespace vramplan {
namespace {

constexpr std::array<const char*, 3> kCounters{"allocated", "reserved", "device_used"};
using Cases = std::array<std::optional<ValidatedCase>, kCounters.size()>;

Cases cases_of(const std::string& line, const std::string& where, const JobOfRow& job_of) {
  const auto value = parse_json(line, where);
  const JsonObject row(value, where);
  const JsonObject measured = row.object("measured");
  Cases out;
  for (std::size_t i = 0; i < kCounters.size(); ++i)
    if (measured.has(kCounters[i])) {
      const std::int64_t bytes = measured.integer(kCounters[i]);
      if (bytes <= 0) measured.fail(kCounters[i], "a peak is more than nothing");
      out[i].emplace();
      out[i]->id = row.text("id");
      out[i]->expected = Bytes(static_cast<std::uint64_t>(bytes));
      out[i]->worst_where = kCounters[i];
    }
  try {
    const Estimate e = estimate(job_of(line, where));
    const std::array<Bytes, kCounters.size()> found{e.counters.allocated, e.counters.reserved, e.counters.device_used};
    for (std::size_t i = 0; i < found.size(); ++i)
      if (auto& c = out[i]) {
        c->found = found[i];
        c->worst = static_cast<double>(found[i].count()) / static_cast<double>(c->expected.count()) - 1;
        c->exact = c->parameters_exact = c->held_exact = found[i] == c->expected;
      }
  } catch (const UserError& e) {
    for (auto& c : out)
      if (c) c->not_expressed = e.what();
  }
  return out;
}

}  // namespace

bool is_watched(std::string_view line) { return line.find(R"("kind":"watched")") != std::string_view::npos; }

std::vector<ValidatedGroup> validate_watched(const std::vector<std::string>& lines, const std::string& path,
                                             const JobOfRow& job_of) {
  std::vector<Cases> all(lines.size());
  parallel_for(lines.size(),
               [&](std::size_t i) { all[i] = cases_of(lines[i], fmt::format("{}:{}", path, i + 1), job_of); });
  std::vector<ValidatedGroup> groups;
  for (std::size_t c = 0; c < kCounters.size(); ++c) {
    ValidatedGroup g;
    g.name = fmt::format("{}.{}", std::filesystem::path(path).stem().string(), kCounters[c]);
    g.judged = false;
    for (Cases& cases : all)
      if (cases[c]) g.rows.push_back(std::move(*cases[c]));
    if (!g.rows.empty()) groups.push_back(std::move(g));
  }
  return groups;
}

}  // namespace vramplan
