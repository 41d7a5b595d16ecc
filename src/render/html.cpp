#include "render/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/vendor.h"
#include "render/need.h"
#include "render/page.h"
#include "render/svg.h"
#include "render/table.h"

namespace vramplan {
namespace {

std::string headline(const Estimate& e) {
  const Counters& c = e.counters;
  const Need need = need_of(e);
  const std::string verdict(name_of(e.verdict));
  std::string out = fmt::format("<h1 id=\"verdict\" class=\"{}\">{}</h1><p>", dashed(verdict), verdict);
  if (e.job.card)
    out += fmt::format(
        "{} of {} usable on {}{}; margin {:+.2f} GiB, uncertain by {}.{}", format_bytes(need.itself),
        format_bytes(c.capacity), escaped(e.job.card->name), escaped(gaps_words(e, need, ByteUnit::automatic)),
        static_cast<double>(e.margin) / static_cast<double>(kGiB), format_bytes(e.uncertainty),
        need.cure.empty()
            ? ""
            : std::string(" It ") + (need.cure.starts_with("tight") ? "is " : "") + escaped(need.cure) + ".");
  else
    out += fmt::format("The process takes {} of a card.", format_bytes(c.device_used));
  return out + "<br><span class=\"quiet\">" + escaped(job_line(e)) + "</span></p>";
}

const VendorWords& words_of_card(const Estimate& e) { return vendor_words(e.job.card ? e.job.card->vendor : ""); }

/// What the card is filled with, or the peak alone when there is none.
std::string bar(const Estimate& e) {
  const Bytes whole = std::max(e.job.card ? e.counters.capacity : Bytes(), e.tree.bytes);
  std::string pieces, rows;
  for (const ByteRow& r : e.tree.children) {
    const bool other = r.name.starts_with('[');
    const std::string style = other ? "other" : dashed(r.name), name = escaped(row_name(r.name, words_of_card(e)));
    const double share =
        100 * static_cast<double>(r.bytes.count()) / static_cast<double>(std::max<std::uint64_t>(whole.count(), 1));
    pieces += fmt::format("<i class=\"{}\" style=\"width:{:.3f}%\" title=\"{}\"></i>", style, share, name);
    rows += fmt::format("<tr><td><span class=\"key {}\"></span>{}</td>{}<td class=\"n\">{:.1f} %</td></tr>", style,
                        name, bytes_cell(r.bytes), share);
  }
  return fmt::format(
      "<h2>At the peak, in {}</h2><div class=\"bar\">{}</div><table id=\"tree\">{}<tr><th>device "
      "used</th>{}<td></td></tr></table>",
      name_of(e.peak_phase), pieces, rows, bytes_cell(e.counters.device_used));
}

std::string timeline(const Estimate& e, const Timeline& t) {
  std::optional<Bytes> left;
  if (e.job.card && e.counters.device_used > e.peak) {
    const Bytes beside = e.counters.device_used - e.peak;  // what is bracketed is not drawn
    if (e.counters.capacity > beside) left = e.counters.capacity - beside;
  }
  return "<h2>Tensors alive, event by event</h2>" + timeline_part(t, left);
}

std::string curve(const Estimate& e, const Curve& c) {
  const CurvePoint& best = c.points.at(static_cast<std::size_t>(c.best - 1));
  std::string rows;
  auto row = [&](const std::string& name, const CurvePoint& p) {
    rows += fmt::format("<tr><td>{}</td>{}{}<td class=\"n\">{:+.1f} %</td></tr>", name, bytes_cell(p.peak),
                        bytes_cell(p.device_used), 100 * p.recompute_share);
  };
  row("none", c.without);
  row("N = 1", c.points.front());
  row(fmt::format("N = {}, the lowest peak", c.best), best);
  if (c.points.size() > 1) row(fmt::format("N = {}, every layer", c.points.size()), c.points.back());
  return "<h2>Against the number of checkpointed segments N</h2><div class=\"wide\">" +
         curve_svg(c, e.job.card ? std::optional(e.counters.capacity) : std::nullopt) +
         "</div><div class=\"wide\"><table id=\"curve\"><tr><th>segments</th><th class=\"n\"><span class=\"key "
         "parameter\"></span>peak "
         "of tensors</th><th class=\"n\"><span class=\"key activation\"></span>device used</th><th "
         "class=\"n\">arithmetic</th></tr>" +
         rows + "</table></div>";
}

std::string tensors(const Estimate& e) {
  std::string rows;
  for (const PeakTensor& t : e.tensors) {
    const std::string layers = t.first_layer < 0               ? ""
                               : t.first_layer == t.last_layer ? std::to_string(t.first_layer)
                                                               : fmt::format("{} to {}", t.first_layer, t.last_layer);
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{} {}</td><td>{}</td><td class=\"n\">{}</td>{}</tr>",
                        escaped(t.name), name_of(t.category), escaped(t.dtype), escaped(t.shape), layers, t.count,
                        bytes_cell(t.bytes));
  }
  return "<h2>The largest tensors at the peak</h2><div class=\"wide\"><table id=\"tensors\"><tr><th>made "
         "by</th><th>is</th><th>shape</th>"
         "<th>layers</th><th class=\"n\">count</th><th class=\"n\">bytes</th></tr>" +
         rows + "</table></div>";
}

std::string counters(const Estimate& e) {
  const VendorWords& words = words_of_card(e);
  std::string out = "<h2>As tools count it</h2><table id=\"counters\">";
  auto row = [&](const char* name, Bytes b, const std::string& tool) {
    out += fmt::format("<tr id=\"{}\"><td>{}</td>{}<td class=\"quiet\">{}</td></tr>", dashed(name), name, bytes_cell(b),
                       tool);
  };
  row("allocated", e.counters.allocated, std::string(words.allocated));
  row("reserved", e.counters.reserved, std::string(words.reserved));
  row("device used", e.counters.device_used, fmt::format("{}, of the process", words.monitor));
  if (e.job.card) row("capacity", e.counters.capacity, "what the process may use; decides");
  out += "</table><h2>Peak of each phase</h2><table id=\"phases\">";
  for (const PhasePeak& p : e.phases)
    out += fmt::format("<tr><td>{}</td>{}</tr>", name_of(p.phase), bytes_cell(p.peak));
  out += "</table>";
  if (e.without_checkpointing)
    out += fmt::format(
        "<h2>With and without checkpointing</h2><table id=\"without\"><tr><th></th><th class=\"n\">with</th><th "
        "class=\"n\">without</th></tr>"
        "<tr><td>peak of tensors</td>{}{}</tr><tr><td>held after forward</td>{}{}</tr></table>",
        bytes_cell(e.peak), bytes_cell(e.without_checkpointing->peak), bytes_cell(e.held),
        bytes_cell(e.without_checkpointing->held));
  return out;
}

std::string advice(const Estimate& e) {
  if (!e.advice) return {};
  std::string vain;
  for (const std::string& line : e.advice->in_vain) vain += "<p>In vain: " + escaped(line) + ".</p>";
  if (e.advice->levers.empty()) return vain;
  std::string rows;
  for (const Advice& a : e.advice->levers)
    rows += fmt::format(
        "<tr><td><code>{}</code></td><td>{}</td><td class=\"n\">{:+.2f} GiB</td><td "
        "class=\"n\">{}</td><td>{}</td></tr>",
        escaped(a.flags), escaped(a.setting), -static_cast<double>(a.saved) / static_cast<double>(kGiB),
        a.slower ? fmt::format("{:+.1f} %", 100 * *a.slower) : "", name_of(a.verdict));
  std::string out =
      "<h2>What would save memory</h2><div class=\"wide\"><table id=\"advice\"><tr><th>add</th><th>in a "
      "framework</th><th class=\"n\">device "
      "used</th><th class=\"n\">time a token</th><th></th></tr>" +
      rows + "</table></div>";
  if (e.advice->set)
    out += fmt::format("<p>Together these make it fit: <code>{}</code></p>", escaped(e.advice->set->flags));
  return out + vain;
}

std::string notes(const Estimate& e) {
  std::string out;
  for (const auto& [title, list] : {std::pair{"Warnings", &e.warnings}, std::pair{"Assumptions", &e.assumptions}}) {
    if (list->empty()) continue;
    out += fmt::format("<h2>{}</h2><ul>", title);
    for (const std::string& n : *list) out += "<li>" + escaped(n) + "</li>";
    out += "</ul>";
  }
  return out;
}

}  // namespace

std::string estimate_html(const Estimate& e, const Timeline& t, const Curve& c, const std::string& command) {
  return page(e.job.model.name + ": " + std::string(name_of(e.verdict)),
              headline(e) + bar(e) + timeline(e, t) + tensors(e) + counters(e) + curve(e, c) + advice(e) + notes(e) +
                  "<h2>To get this again</h2><pre id=\"command\">" + escaped(command) + "</pre>");
}

std::string timeline_svg_file(const Timeline& t) {
  std::string svg = timeline_svg(t, std::nullopt);
  const std::string style = ":root{--ink:#1a1a1a;--quiet:#666;--line:#e4e4e4;--shade:rgba(0,0,0,.045);--bad:#c0392b}" +
                            std::string(picture_style());
  svg.insert(svg.find('>') + 1, "<style>" + style + "</style>");
  return svg + "\n";
}

}  // namespace vramplan
