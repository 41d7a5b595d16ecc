#include "plan/cuts.h"

#include <algorithm>
#include <limits>

namespace vramplan {
namespace {

constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 4;

/// A run from a layer on: how far, its peak above what the runs before hold, and what it holds itself.
struct Run {
  std::size_t end;  ///< one past its last layer
  std::int64_t inner, hold;
  double recomputed;
};

class Chain {
 public:
  explicit Chain(const std::vector<ChainLayer>& layers) : layers_(layers), after_(layers.size() + 1, 0) {
    for (std::size_t i = layers.size(); i-- > 0;) after_[i] = after_[i + 1] + layers[i].gradient;
  }

  std::size_t size() const { return layers_.size(); }

  /// The checkpointed runs that begin at layer i, the shortest first.
  std::vector<Run> checkpointed(std::size_t i) const {
    std::vector<Run> runs;
    std::int64_t kept = 0, inner = 0;
    double forward = 0;
    for (std::size_t l = i; l < size(); ++l) {
      kept += layers_[l].kept;
      forward += layers_[l].forward;
      inner = std::max(inner, layers_[i].boundary + kept + layers_[l].work + after_[l + 1]);
      runs.push_back({l + 1, inner, layers_[i].boundary, forward});
    }
    return runs;
  }
  Run plain(std::size_t i) const {
    const std::int64_t hold = layers_[i].boundary + layers_[i].kept;
    return {i + 1, hold + layers_[i].work + after_[i + 1], hold, 0};
  }

 private:
  const std::vector<ChainLayer>& layers_;
  std::vector<std::int64_t> after_;  ///< gradients of the layers from here on
};

/// Plain layers side by side are one run.
void add_plain(std::vector<std::int64_t>& runs) {
  if (!runs.empty() && runs.back() < 0)
    --runs.back();
  else
    runs.push_back(-1);
}

/// A way to go on from a layer: its peak above what is held there, and which run it begins with.
struct Way {
  std::int64_t peak;
  double recomputed;
  std::size_t end;
  bool checkpointed;
  std::size_t next;  ///< of the ways from `end`
};

/// The ways that no other beats in both peak and recomputation, the lowest peak first.
std::vector<Way> frontier(std::vector<Way> ways) {
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return a.peak != b.peak ? a.peak < b.peak : a.recomputed < b.recomputed;
  });
  std::vector<Way> out;
  for (const Way& w : ways)
    if (out.empty() || w.recomputed < out.back().recomputed) out.push_back(w);
  return out;
}

}  // namespace

Cuts cost_of(const std::vector<ChainLayer>& layers, std::vector<std::int64_t> runs) {
  const Chain chain(layers);
  Cuts c;
  std::size_t at = 0;
  std::int64_t held = 0;
  auto take = [&](const Run& r) {
    c.peak = std::max(c.peak, held + r.inner);
    c.recomputed += r.recomputed;
    held += r.hold;
    at = r.end;
  };
  for (const std::int64_t n : runs) {
    if (n > 0) take(chain.checkpointed(at)[static_cast<std::size_t>(n - 1)]);
    for (std::int64_t k = n; k < 0; ++k) take(chain.plain(at));
  }
  c.runs = std::move(runs);
  return c;
}

Cuts lowest_peak(const std::vector<ChainLayer>& layers, std::int64_t segments) {
  const Chain chain(layers);
  const std::size_t n = chain.size();
  const auto k = static_cast<std::size_t>(segments);
  // best[m][i]: the lowest peak of the layers from i on in m runs, above what is held before them.
  std::vector<std::vector<std::int64_t>> best(k + 1, std::vector<std::int64_t>(n + 1, kInfinite));
  std::vector<std::vector<std::size_t>> cut(k + 1, std::vector<std::size_t>(n + 1, n));
  best[0][n] = 0;
  for (std::size_t i = n; i-- > 0;)
    for (const Run& r : chain.checkpointed(i))
      for (std::size_t m = 1; m <= k; ++m) {
        if (best[m - 1][r.end] >= kInfinite) continue;
        const std::int64_t peak = std::max(r.inner, r.hold + best[m - 1][r.end]);
        if (peak < best[m][i]) best[m][i] = peak, cut[m][i] = r.end;
      }
  std::vector<std::int64_t> runs;
  for (std::size_t i = 0, m = k; i < n; i = cut[m][i], --m) runs.push_back(static_cast<std::int64_t>(cut[m][i] - i));
  return cost_of(layers, std::move(runs));
}

std::optional<Cuts> least_recomputed(const std::vector<ChainLayer>& layers, std::int64_t budget) {
  const Chain chain(layers);
  std::vector<std::vector<Way>> from(chain.size() + 1);
  from[chain.size()] = {{0, 0, 0, false, 0}};
  for (std::size_t i = chain.size(); i-- > 0;) {
    std::vector<Way> ways;
    auto extend = [&](const Run& r, bool checkpointed) {
      for (std::size_t w = 0; w < from[r.end].size(); ++w) {
        const Way& rest = from[r.end][w];
        const std::int64_t peak = std::max(r.inner, r.hold + rest.peak);
        if (peak <= budget) ways.push_back({peak, r.recomputed + rest.recomputed, r.end, checkpointed, w});
      }
    };
    for (const Run& r : chain.checkpointed(i)) extend(r, true);
    extend(chain.plain(i), false);
    from[i] = frontier(std::move(ways));
  }
  if (from[0].empty()) return std::nullopt;
  std::vector<std::int64_t> runs;
  for (std::size_t i = 0, w = from[0].size() - 1; i < chain.size();) {
    const Way& way = from[i][w];
    if (way.checkpointed)
      runs.push_back(static_cast<std::int64_t>(way.end - i));
    else
      add_plain(runs);
    i = way.end, w = way.next;
  }
  return cost_of(layers, std::move(runs));
}

}  // namespace vramplan
