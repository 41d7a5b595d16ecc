#include "render/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace vramplan {
namespace {

constexpr std::size_t kSegmentsShown = 24;
constexpr int kMapWidth = 40;

struct Line {
  std::size_t segments = 0;
  Bytes size, used, largest_free;
  bool small = false;
  std::string picture;
};

/// One character for each fortieth of the segment: full, empty, or partly used.
std::string picture(const SegmentMap& s, Bytes size, bool utf8) {
  std::string out;
  const double step = static_cast<double>(size.count()) / kMapWidth;
  std::size_t at = 0;
  double begin = 0;
  for (int i = 0; i < kMapWidth; ++i) {
    double used = 0;
    const double from = i * step, to = from + step;
    while (at < s.blocks.size()) {
      const double end = begin + static_cast<double>(s.blocks[at].size.count());
      if (s.blocks[at].used) used += std::max(0.0, std::min(end, to) - std::max(begin, from));
      if (end > to) break;
      begin = end;
      ++at;
    }
    const double share = used / step;
    out += share > 0.99 ? (utf8 ? "█" : "#") : share < 0.01 ? (utf8 ? "·" : ".") : (utf8 ? "▒" : "+");
  }
  return out;
}

Line line_of(const SegmentMap& s, bool utf8) {
  Line l;
  l.segments = 1;
  l.small = s.small;
  for (const SegmentMap::Block& b : s.blocks) {
    l.size += b.size;
    if (b.used)
      l.used += b.size;
    else
      l.largest_free = std::max(l.largest_free, b.size);
  }
  l.picture = picture(s, l.size, utf8);
  return l;
}

void add(Line& into, const Line& l) {
  into.segments += l.segments;
  into.size += l.size;
  into.used += l.used;
  into.largest_free = std::max(into.largest_free, l.largest_free);
}

std::vector<Line> lines_of(const Estimate& e, bool utf8) {
  std::map<std::string, Line> alike;
  for (const SegmentMap& s : e.segments) {
    const Line l = line_of(s, utf8);
    const std::string key = fmt::format("{}/{}/{}", l.small, l.size.count(), l.picture);
    const auto [it, fresh] = alike.try_emplace(key, l);
    if (!fresh) add(it->second, l);
  }
  std::vector<Line> lines;
  lines.reserve(alike.size());
  for (auto& [key, l] : alike) lines.push_back(std::move(l));
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.size > b.size; });
  return lines;
}

std::vector<std::string> cells(const Line& l, const std::string& what) {
  return {fmt::format("{} x", l.segments),
          format_bytes(l.size),
          format_bytes(l.size - l.used),
          format_bytes(l.largest_free),
          what,
          l.picture};
}

}  // namespace

std::string segments_table(const Estimate& e, const TextStyle& style) {
  if (e.segments.empty()) return {};
  const std::vector<Line> lines = lines_of(e, style.utf8);
  Line rest, all;
  Table t({true, true, true, true, false, false});
  t.add({"", "size", "free", "largest free", "pool", "used (full), free (dots)"});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    add(all, lines[i]);
    if (i < kSegmentsShown)
      t.add(cells(lines[i], lines[i].small ? "small" : "large"));
    else
      add(rest, lines[i]);
  }
  if (rest.segments) t.add(cells(rest, "others"));
  t.add(cells(all, "all"));
  return "\nSegments of the allocator at the peak:\n" + t.str();
}

}  // namespace vramplan
