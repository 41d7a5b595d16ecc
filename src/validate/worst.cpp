// The worst cases of golden files, and why.
#include <algorithm>
#include <cmath>

#include "read/allocator_trace.h"
#include "read/measured.h"
#include "read/text_file.h"
#include "validate/validate.h"
#include "validate/watched.h"

namespace vramplan {
namespace {

/// The tensors that differ, where the case is one of tensors.
std::vector<std::string> differing_of(const std::string& id, const std::string& file) {
  for (const std::string& line : read_lines(file)) {
    if (line.find("\"" + id + "\"") == std::string::npos) continue;
    if (is_allocator_trace(line) || is_measurement(line) || is_watched(line)) return {};
    return differing_tensors(read_golden(line, file));
  }
  return {};
}

}  // namespace

std::vector<WorstCase> worst_cases(const std::vector<ValidatedGroup>& groups, const std::vector<std::string>& files,
                                   std::size_t n) {
  struct Found {
    WorstCase worst;
    const std::string* file;
  };
  std::vector<Found> found;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const ValidatedCase& c : groups[g].rows)
      if (c.not_expressed.empty() && !c.exact) found.push_back({{groups[g].name, c}, &files[g]});
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::abs(a.worst.row.worst) > std::abs(b.worst.row.worst);
  });
  found.resize(std::min(found.size(), n));
  std::vector<WorstCase> out;
  out.reserve(found.size());
  for (Found& f : found) {
    f.worst.row.differing = differing_of(f.worst.row.id, *f.file);
    out.push_back(std::move(f.worst));
  }
  return out;
}

}  // namespace vramplan
