#include "validate/measured.h"

#include <algorithm>
#include <map>

#include "estimate/dry_run.h"
#include "estimate/overhead.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

bool is_verdict(const MeasuredRow& r) { return r.kind == MeasuredKind::fits || r.kind == MeasuredKind::oom; }

void judge(const MeasuredRow& row, const DryRun& run, const Overhead& o, ValidatedCase& c) {
  AllocatorOptions limited;
  const Bytes context = row.after_context ? Bytes() : o.context;
  const bool room = row.value > context;
  if (room) limited.capacity = (row.value - context).count();
  const bool fits = room && run.replay(limited, o.workspace).has_value();
  c.exact = fits == (row.kind == MeasuredKind::fits);
  c.worst = c.exact ? 0 : 1;
  c.worst_where = fits ? "said to fit" : "said not to fit";
}

}  // namespace

ValidatedCase validate_measurement(const MeasuredRow& row) {
  ValidatedCase c;
  c.id = row.id;
  c.not_expressed = row.not_expressed;
  if (!row.not_expressed.empty()) return c;
  Job job;
  job.model = row.config;
  job.run = row.options;
  c.not_expressed = why_not_runnable(job);
  if (!c.not_expressed.empty()) return c;
  const DryRun run(check_job(job));
  const Overhead o = overhead_of(job);
  const ReplayPeaks peaks = run.replay({}, o.workspace)->peaks;
  c.parameters_exact = c.held_exact = true;
  c.expected = row.value;
  c.found = row.kind == MeasuredKind::allocated  ? peaks.allocated
            : row.kind == MeasuredKind::reserved ? peaks.reserved
                                                 : peaks.reserved + o.context;
  if (is_verdict(row)) {
    judge(row, run, o, c);
    return c;
  }
  c.worst = (static_cast<double>(c.found.count()) - static_cast<double>(c.expected.count())) /
            static_cast<double>(std::max<std::uint64_t>(c.expected.count(), 1));
  c.exact = c.worst == 0;
  c.worst_where = row.kind == MeasuredKind::allocated  ? "allocated"
                  : row.kind == MeasuredKind::reserved ? "reserved"
                                                       : "device used";
  return c;
}

std::vector<ValidatedGroup> group_measurements(const std::vector<MeasuredRow>& rows, std::vector<ValidatedCase> cases) {
  std::map<std::string, ValidatedGroup> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string kind = is_verdict(rows[i]) && cases[i].not_expressed.empty() ? "fits" : rows[i].kind_of_run;
    groups["measured/" + kind + "/" + rows[i].source].rows.push_back(cases[i]);
    groups["measured/" + kind].rows.push_back(std::move(cases[i]));
  }
  std::vector<ValidatedGroup> out;
  for (auto& [name, g] : groups) {
    g.name = name;
    g.judged = false;
    out.push_back(std::move(g));
  }
  return out;
}

}  // namespace vramplan
