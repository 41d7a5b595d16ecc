#include "estimate/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace vramplan {
namespace {

std::string tensor_name(const Record& r) {
  const std::string_view module = r.place.module;
  return module.empty() || module == "weights" || r.op == std::string_view("parameter")
             ? std::string(r.op)
             : fmt::format("{} {}", module, r.op);
}

/// Same origin, type and shape; names are literals, so their addresses tell them apart within a run.
bool same_kind(const Record& a, const Record& b) {
  return a.op == b.op && a.place.module == b.place.module && a.dtype == b.dtype && a.shape == b.shape;
}

std::size_t hash_of(const Record& r, Category c) {
  std::size_t h = static_cast<std::size_t>(c) * 31 + static_cast<std::size_t>(r.dtype);
  for (std::int64_t d : r.shape) h = h * 1000003 + static_cast<std::size_t>(d);
  return h * 1000003 + std::hash<const void*>{}(r.op) + 7 * std::hash<const void*>{}(r.place.module);
}

struct Kind {
  const Record* example = nullptr;
  Category category = Category::temporary;
  int first_layer = 0, last_layer = 0;
  std::int64_t count = 0;
  Bytes bytes;
};

std::vector<Kind> group(const Ledger& ledger, const std::vector<Ledger::Alive>& alive) {
  std::vector<Kind> kinds;
  std::unordered_multimap<std::size_t, std::size_t> index;
  for (const Ledger::Alive& a : alive) {
    const Record& r = ledger.record(a.record);
    const std::size_t h = hash_of(r, a.category);
    auto [it, end] = index.equal_range(h);
    while (it != end && !(kinds[it->second].category == a.category && same_kind(*kinds[it->second].example, r))) ++it;
    if (it == end) {
      it = index.emplace(h, kinds.size());
      kinds.push_back({&r, a.category, r.place.layer, r.place.layer, 0, {}});
    }
    Kind& k = kinds[it->second];
    k.first_layer = std::min(k.first_layer, r.place.layer);
    k.last_layer = std::max(k.last_layer, r.place.layer);
    ++k.count;
    k.bytes += r.bytes;
  }
  return kinds;
}

}  // namespace

std::vector<PeakTensor> kinds_alive(const Ledger& ledger, const std::vector<Ledger::Alive>& alive) {
  std::vector<PeakTensor> out;
  for (const Kind& k : group(ledger, alive)) {
    const Record& r = *k.example;
    PeakTensor t{
        tensor_name(r), k.category, std::string(name_of(r.dtype)), to_string(r.shape), k.first_layer, k.last_layer,
        k.count,        k.bytes};
    // The same literal may stand at two addresses: kinds that read alike are one.
    auto same = std::find_if(out.begin(), out.end(), [&](const PeakTensor& o) {
      return o.category == t.category && o.name == t.name && o.dtype == t.dtype && o.shape == t.shape;
    });
    if (same == out.end()) {
      out.push_back(std::move(t));
      continue;
    }
    same->first_layer = std::min(same->first_layer, t.first_layer);
    same->last_layer = std::max(same->last_layer, t.last_layer);
    same->count += t.count;
    same->bytes += t.bytes;
  }
  std::stable_sort(out.begin(), out.end(), [](const PeakTensor& a, const PeakTensor& b) { return a.bytes > b.bytes; });
  return out;
}

ByteRow make_tree(const std::vector<PeakTensor>& kinds, const Tally& peak, const Overhead& o, const Counters& c) {
  std::map<Category, ByteRow> categories;
  for (const PeakTensor& k : kinds) {
    ByteRow& row = categories.try_emplace(k.category, ByteRow{std::string(name_of(k.category)), {}, {}}).first->second;
    row.children.push_back({fmt::format("{} {} {}", k.name, k.dtype, k.shape), k.bytes, {}});
    row.bytes += k.bytes;
  }
  ByteRow root{"device used at the peak", c.device_used, {}};
  for (auto& [category, row] : categories) root.children.push_back(std::move(row));
  const Bytes beyond = c.reserved - peak.rounded, workspace = std::min(beyond, c.workspace),
              scratch = std::min(beyond - workspace, c.scratch);
  root.children.push_back({"[rounding to 512-byte blocks]", peak.rounded - peak.requested, {}});
  root.children.push_back({"[cublas workspace]", workspace, {}});
  root.children.push_back({"[kernel scratch]", scratch, {}});
  root.children.push_back({"[allocator slack]", beyond - workspace - scratch, {}});
  root.children.push_back({"[cuda context]", o.context, {}});
  return root;
}

namespace {

void check_row(const ByteRow& row, std::vector<std::string>& out) {
  if (row.children.empty()) return;
  Bytes sum;
  std::set<std::string> names;
  for (const ByteRow& c : row.children) {
    sum += c.bytes;
    if (!names.insert(c.name).second)
      out.push_back(fmt::format("two children of '{}' are called '{}'", row.name, c.name));
    check_row(c, out);
  }
  if (sum != row.bytes)
    out.push_back(fmt::format("the children of '{}' sum to {} B, not {} B", row.name, sum.count(), row.bytes.count()));
}

}  // namespace

std::vector<std::string> broken_invariants(const Estimate& e) {
  std::vector<std::string> out;
  check_row(e.tree, out);
  if (e.tree.bytes != e.counters.device_used) out.push_back("the tree does not sum to the device bytes");
  Bytes highest;
  for (const PhasePeak& p : e.phases) highest = std::max(highest, p.peak);
  if (highest != e.peak)
    out.push_back(fmt::format("the highest phase has {} B, the peak {} B", highest.count(), e.peak.count()));
  if (e.held > e.peak) out.push_back("more is held than the peak");
  if (e.counters.allocated > e.counters.reserved || e.counters.reserved > e.counters.device_used)
    out.push_back("the counters are not in order");
  return out;
}

}  // namespace vramplan
