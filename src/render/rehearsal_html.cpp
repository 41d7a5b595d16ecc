// A rehearsal as one page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "render/page.h"
#include "render/rehearsal.h"
#include "render/svg.h"

namespace vramplan {
namespace {

std::string text_cell(std::string_view text) { return fmt::format("<td>{}</td>", escaped(text)); }
std::string number_cell(std::int64_t n) { return fmt::format("<td class=\"n\">{}</td>", n); }

std::string headline(const Rehearsal& r, const WorstDevice* worst) {
  const std::string verdict(verdict_word(r)), torch = worst ? worst->process->torch : "";
  return fmt::format(
      "<h1 id=\"verdict\" class=\"{}\">{}</h1><p>{}<br><span class=\"quiet\">{}: exit status {}{}</span></p>",
      dashed(verdict), verdict, escaped(rehearsal_headline(r)), escaped(fmt::format("{}", fmt::join(r.command, " "))),
      r.status, torch.empty() ? "" : ", PyTorch " + escaped(torch));
}

std::string devices(const Rehearsal& r) {
  std::string rows;
  for (const RehearsedProcess& p : r.processes)
    for (const RehearsedDevice& d : p.devices)
      rows += "<tr>" + number_cell(p.rank) + number_cell(d.device) + bytes_cell(d.allocated) + bytes_cell(d.reserved) +
              bytes_cell(d.inactive_split) + bytes_cell(d.device_used) + number_cell(p.steps) + number_cell(d.retries) +
              "</tr>";
  return "<h2>Counters of PyTorch and of the card</h2><div class=\"wide\"><table id=\"devices\"><tr><th "
         "class=\"n\">rank</th><th class=\"n\">device</th><th class=\"n\">allocated</th><th "
         "class=\"n\">reserved</th><th class=\"n\">inactive split</th><th class=\"n\">device used</th><th "
         "class=\"n\">steps</th><th "
         "class=\"n\">retries</th></tr>" +
         rows + "</table></div>";
}

std::string steps(const RehearsedDevice& d) {
  if (d.steps.empty()) return {};
  constexpr std::size_t kShown = 10;
  std::string rows;
  for (std::size_t i = 0; i < std::min(kShown, d.steps.size()); ++i) {
    const RehearsedStep& s = d.steps[i];
    rows += fmt::format("<tr><td>step {}</td>{}{}</tr>", i + 1, bytes_cell(s.allocated), bytes_cell(s.reserved));
    for (const RehearsedPhase& p : s.phases)
      rows += "<tr>" + fmt::format("<td class=\"quiet\">&emsp;{}</td>", escaped(p.name)) + bytes_cell(p.allocated) +
              bytes_cell(p.reserved) + "</tr>";
  }
  return "<h2>Peaks by optimizer step and phase</h2><div class=\"wide\"><table id=\"steps\"><tr><th></th><th "
         "class=\"n\">allocated</th><th class=\"n\">reserved</th></tr>" +
         rows + "</table></div>";
}

std::string comparison(const Rehearsal& r, const PredictedRun& predicted) {
  std::string rows;
  std::vector<RehearsalGap> gaps = gaps_of(r, predicted);
  for (RehearsalGap& g : gaps_by_kind(r, predicted))
    gaps.push_back({"at the peak: " + g.name, g.rehearsed, g.predicted});
  for (const RehearsalGap& g : gaps)
    rows += fmt::format("<tr>{}{}{}<td class=\"n\">{:+.3f} %</td></tr>", text_cell(g.name), bytes_cell(g.rehearsed),
                        bytes_cell(g.predicted), 100 * share_of(g));
  return "<h2>Beside the estimate of the same flags, in step 2</h2><div class=\"wide\"><table "
         "id=\"compared\"><tr><th></th><th class=\"n\">rehearsed</th><th class=\"n\">estimate</th><th class=\"n\">off "
         "by</th></tr>" +
         rows + "</table></div>";
}

std::string places(const RehearsedProcess& p) {
  if (p.places.empty()) return {};
  constexpr std::size_t kShown = 40;
  std::string rows;
  for (std::size_t i = 0; i < std::min(kShown, p.places.size()); ++i) {
    const RehearsedPlace& place = p.places[i];
    rows += "<tr>" + text_cell(shortened_place(place.place)) + text_cell(place.kind) + text_cell(place.during) +
            number_cell(place.count) + bytes_cell(place.bytes) + "</tr>";
  }
  return "<h2>Alive at the peak, by the line that allocated</h2><div class=\"wide\"><table "
         "id=\"places\"><tr><th>line</th><th>is</th><th>during</th><th class=\"n\">tensors</th><th "
         "class=\"n\">bytes</th></tr>" +
         rows + "</table></div>";
}

std::string notes(const Rehearsal& r) {
  std::string out;
  for (const std::string& a : r.assumptions) out += "<li>assumed: " + escaped(a) + "</li>";
  for (const std::string& w : r.warnings) out += "<li>" + escaped(w) + "</li>";
  return out.empty() ? out : "<h2>To know</h2><ul>" + out + "</ul>";
}

}  // namespace

std::string rehearsal_html(const Rehearsal& r, const std::optional<PredictedRun>& predicted) {
  const auto worst = worst_device(r);
  std::string body = headline(r, worst ? &*worst : nullptr);
  if (worst) {
    const Timeline& t = worst->process->timeline;
    std::optional<Bytes> left;
    if (r.counters.capacity > r.context) left = r.counters.capacity - r.context;
    if (!t.samples.empty()) body += "<h2>Tensors alive, allocation by allocation</h2>" + timeline_part(t, left);
    body += devices(r) + steps(*worst->device);
    if (predicted) body += comparison(r, *predicted);
    body += places(*worst->process);
  }
  return page("rehearsal: " + std::string(verdict_word(r)), body + notes(r));
}

}  // namespace vramplan
