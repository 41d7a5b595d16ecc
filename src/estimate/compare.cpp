#include "vramplan/estimate/compare.h"

#include <algorithm>
#include <cstdlib>

#include "vramplan/base/error.h"

namespace vramplan {
namespace {

std::int64_t more(Bytes a, Bytes b) { return BytePair{{}, a, b}.difference(); }

Effect effect_of(const Change& change, Bytes before) {
  Effect e{change, std::nullopt};
  if (!change.alone) return e;
  try {
    e.device_used = more(before, assess(*change.alone).counters.device_used);
  } catch (const UserError& error) {
    e.change.why_not = error.what();
  }
  return e;
}

/// Rows of both trees, by name.
std::vector<BytePair> category_pairs(const ByteRow& first, const ByteRow& second) {
  std::vector<BytePair> out;
  out.reserve(first.children.size());
  for (const ByteRow& r : first.children) out.push_back({r.name, r.bytes, {}});
  for (const ByteRow& r : second.children) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const BytePair& p) { return p.name == r.name; });
    if (same == out.end())
      out.push_back({r.name, {}, r.bytes});
    else
      same->second = r.bytes;
  }
  std::erase_if(out, [](const BytePair& p) { return p.first == Bytes() && p.second == Bytes(); });
  std::stable_sort(out.begin(), out.end(), [](const BytePair& a, const BytePair& b) {
    return std::abs(a.difference()) > std::abs(b.difference());
  });
  return out;
}

Bytes peak_in(const Estimate& e, Phase phase) {
  for (const PhasePeak& p : e.phases)
    if (p.phase == phase) return p.peak;
  return {};
}

std::vector<BytePair> phase_pairs(const Estimate& first, const Estimate& second) {
  std::vector<BytePair> out;
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
    const auto phase = static_cast<Phase>(i);
    const BytePair pair{std::string(name_of(phase)), peak_in(first, phase), peak_in(second, phase)};
    if (pair.first > Bytes() || pair.second > Bytes()) out.push_back(pair);
  }
  return out;
}

}  // namespace

Comparison compare(const Job& first, const Job& second, const std::vector<Change>& changes) {
  Comparison c;
  c.first = estimate(first);
  c.second = estimate(second);
  const Counters &a = c.first.counters, &b = c.second.counters;
  c.counters = {{"allocated", a.allocated, b.allocated},
                {"reserved", a.reserved, b.reserved},
                {"device_used", a.device_used, b.device_used},
                {"capacity", a.capacity, b.capacity}};
  c.categories = category_pairs(c.first.tree, c.second.tree);
  c.phases = phase_pairs(c.first, c.second);
  c.together = more(a.device_used, b.device_used);
  for (const Change& change : changes) {
    c.effects.push_back(effect_of(change, a.device_used));
    c.together -= c.effects.back().device_used.value_or(0);
  }
  std::stable_sort(c.effects.begin(), c.effects.end(), [](const Effect& x, const Effect& y) {
    return std::abs(x.device_used.value_or(0)) > std::abs(y.device_used.value_or(0));
  });
  return c;
}

}  // namespace vramplan
