#include "render/curve.h"

#include "render/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "train/words.h"
#include "vramplan/estimate/explain.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t kLines = 32;
constexpr int kCurveWidth = 32;

const CurvePoint& at(const Curve& c, std::int64_t n) { return c.points[static_cast<std::size_t>(n - 1)]; }

/// All N of a short model; of a long one those around the answers and some between.
bool shown(const Curve& c, std::int64_t n) {
  const auto layers = static_cast<std::int64_t>(c.points.size());
  if (layers <= kLines || n <= 2 || n == layers || n == c.best || n == c.root) return true;
  if (std::abs(n - c.best) <= 2 || std::abs(n - c.root) <= 2) return true;
  return n % std::max<std::int64_t>(1, layers / 16) == 0;
}

std::string bar(Bytes b, Bytes highest, bool utf8) {
  const int n = static_cast<int>(std::lround(kCurveWidth * static_cast<double>(b.count()) /
                                             static_cast<double>(std::max<std::uint64_t>(highest.count(), 1))));
  std::string out;
  for (int i = 0; i < n; ++i) out += utf8 ? "█" : "#";
  return out;
}

/// Why the square root of L is not where the peak is lowest.
std::string why(const Curve& c) {
  const CurvePoint &best = at(c, c.best), &root = at(c, c.root);
  std::string out;
  if (best.activation_peak < best.peak)
    out += fmt::format("the optimizer step is the peak: {} of it hide what more segments save\n",
                       format_bytes(best.peak - best.activation_peak));
  if (c.best == c.root) return out + "the square root of L is the best N here\n";
  const std::int64_t item = parameter_type(c.job.run.precision) == DType::fp32 ? 4 : 2;
  const Bytes boundary = simple_activations(1, c.job.run.micro_batch, c.job.run.seq, c.job.model.hidden, item);
  return out + fmt::format(
                   "N = {} needs {} less before the optimizer than N = {}, the square root of L: that rule takes "
                   "what a layer keeps to be as large as a boundary, and here it is {:.1f} times as large\n",
                   c.best, format_bytes(root.activation_peak - best.activation_peak), c.root,
                   static_cast<double>(c.without.held.count()) / static_cast<double>(c.points.size()) /
                       static_cast<double>(std::max<std::uint64_t>(boundary.count(), 1)));
}

}  // namespace

/// What runs of unequal lengths would gain.
std::string uneven_line(const Curve& c) {
  if (!c.uneven_point) return {};
  const Bytes best = at(c, c.best).activation_peak, found = c.uneven_point->activation_peak;
  const bool less = found < best;
  return fmt::format("unequal runs, cut by bytes: --checkpoint {} needs {} {} before the optimizer than N = {}\n",
                     checkpoint_word(c.uneven), format_bytes(less ? best - found : found - best),
                     less ? "less" : "more", c.best);
}

/// The textbook's answers for the same layers.
std::string reference_lines(const Curve& c) {
  const Textbook& t = c.textbook;
  if (t.boundary == Bytes()) return {};
  const auto layers = c.points.size();
  return fmt::format(
      "textbook: a layer keeps A = {}, a boundary B = {}\n"
      "  Chen 2016, N B + (L/N) A: lowest at N = sqrt(L A / B) = {:.1f} with 2 sqrt(L A B) = {}; with A = B at sqrt(L) "
      "= "
      "{:.1f}\n"
      "  recursive, log2(L) B + A: {} for {} forward passes more\n"
      "  without: L A = {}\n{}",
      format_bytes(t.layer), format_bytes(t.boundary), t.best_segments, format_bytes(t.best),
      std::sqrt(static_cast<double>(layers)), format_bytes(t.recursive), t.recursive_forwards,
      format_bytes(t.layer * layers),
      c.without.time ? fmt::format("times: a roofline of {}\n", c.without.time->card) : "");
}

std::string curve_table(const Curve& c, const TextStyle& style) {
  Table t({true, true, true, true, true, true, true, false, false});
  t.add({"N", "held", "peak of tensors", "before optimizer", "device used", "recompute", "step", "", ""});
  Bytes highest = c.without.activation_peak;
  for (const CurvePoint& p : c.points) highest = std::max(highest, p.activation_peak);
  auto add = [&](const CurvePoint& p, const std::string& name, const std::string& mark) {
    t.add({name, format_bytes(p.held), format_bytes(p.peak), format_bytes(p.activation_peak),
           format_bytes(p.device_used), fmt::format("{:.1f} %", 100 * p.recompute_share),
           p.time ? fmt::format("{:.1f} ms", 1e3 * p.time->total()) : "", bar(p.activation_peak, highest, style.utf8),
           mark});
  };
  add(c.without, "none", "");
  for (const CurvePoint& p : c.points)
    if (shown(c, p.segments))
      add(p, std::to_string(p.segments),
          p.segments == c.best   ? "<- lowest peak"
          : p.segments == c.root ? "<- square root of L"
                                 : "");
  return fmt::format("{}: memory against the number of segments, {} layers, micro-batch {}\n\n{}\n{}", c.job.model.name,
                     c.points.size(), batch_word(c.job.run), t.str(), why(c) + uneven_line(c) + reference_lines(c));
}

std::string curve_json(const Curve& c) {
  json j = document("curve");
  j.update({{"best", c.best},
            {"square_root", c.root},
            {"without_checkpointing", {{"held", c.without.held.count()}, {"peak", c.without.peak.count()}}},
            {"textbook",
             {{"layer", c.textbook.layer.count()},
              {"boundary", c.textbook.boundary.count()},
              {"best_segments", c.textbook.best_segments},
              {"best", c.textbook.best.count()},
              {"recursive", c.textbook.recursive.count()},
              {"recursive_forwards", c.textbook.recursive_forwards}}},
            {"points", json::array()}});
  j["unequal"] = c.uneven_point ? json{{"checkpoint", checkpoint_word(c.uneven)},
                                       {"peak", c.uneven_point->peak.count()},
                                       {"activation_peak", c.uneven_point->activation_peak.count()}}
                                : json();
  for (const CurvePoint& p : c.points)
    j["points"].push_back({{"segments", p.segments},
                           {"held", p.held.count()},
                           {"peak", p.peak.count()},
                           {"activation_peak", p.activation_peak.count()},
                           {"device_used", p.device_used.count()},
                           {"recompute", p.recompute_share},
                           {"step_seconds", p.time ? json(p.time->total()) : json()},
                           {"verdict", std::string(name_of(p.verdict))}});
  j["job"] = job_json(c.job);
  return document_text(j);
}

std::string curve_csv(const Curve& c) {
  std::string out = "segments,held,peak,activation_peak,device_used,recompute,step_seconds,verdict\n";
  for (const CurvePoint& p : c.points)
    out += fmt::format("{},{},{},{},{},{:.6f},{},{}\n", p.segments, p.held.count(), p.peak.count(),
                       p.activation_peak.count(), p.device_used.count(), p.recompute_share,
                       p.time ? fmt::format("{:.6f}", p.time->total()) : "", name_of(p.verdict));
  return out;
}

}  // namespace vramplan
