#include "render/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hardware/vendor.h"
#include "render/need.h"
#include "render/rehearsal.h"
#include "render/table.h"

namespace vramplan {
namespace {

/// A cell: no pipe ends it, no tag or mark of Markdown is read in it, no line break leaves it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '\n' || c == '\r')
      out += ' ';
    else if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos)
      out += std::string("\\") + c;
    else
      out += c;
  return out;
}

std::string row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string bytes_table(std::string_view what, const std::vector<std::pair<std::string, Bytes>>& rows) {
  std::string out = fmt::format("\n| {} | size | bytes |\n| --- | ---: | ---: |\n", what);
  for (const auto& [name, bytes] : rows)
    out += row({cell(name), format_bytes(bytes), fmt::format("{}", bytes.count())});
  return out;
}

std::string list(std::string_view title, const std::vector<std::string>& lines) {
  std::string out = lines.empty() ? "" : fmt::format("\n{}:\n\n", title);
  for (const std::string& l : lines) out += "- " + cell(l) + "\n";
  return out;
}

std::string advice(const Estimate& e) {
  if (!e.advice) return {};
  if (e.advice->levers.empty()) return list("What cannot help", e.advice->in_vain);
  std::string out = "\n| change | saves | then |\n| --- | ---: | --- |\n";
  for (const Advice& a : e.advice->levers)
    out += row({cell(a.flags), fmt::format("{:.2f} GiB", static_cast<double>(a.saved) / static_cast<double>(kGiB)),
                a.verdict == Verdict::unknown ? "" : std::string(name_of(a.verdict))});
  return out + list("What cannot help", e.advice->in_vain);
}

std::string verdict_line(const Estimate& e) {
  if (!e.job.card) return fmt::format("Needs **{}** at the peak of a step\n", format_gib(e.counters.device_used));
  const Need need = need_of(e);
  return fmt::format("**{}** on {}: needs {} of {} usable{}, uncertain by {}\n{}", name_of(e.verdict),
                     cell(e.job.card->name), format_gib(need.itself), format_gib(e.counters.capacity),
                     gaps_words(e, need, ByteUnit::gib), format_gib(e.uncertainty),
                     need.cure.empty() ? "" : "\n" + cell(need.cure) + "\n");
}

/// A fence longer than any run of backticks inside.
std::string code(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fmt::format("\n{0}sh\n{1}\n{0}\n", fence, text);
}

}  // namespace

std::string estimate_markdown(const Estimate& e, const std::string& command) {
  std::string out = verdict_line(e);
  out += "\n" + cell(job_line(e)) + "\n" + code(command);
  std::vector<std::pair<std::string, Bytes>> rows;
  for (const ByteRow& r : e.tree.children)
    if (r.bytes > Bytes())
      rows.emplace_back(row_name(r.name, vendor_words(e.job.card ? e.job.card->vendor : "")), r.bytes);
  rows.emplace_back("device used", e.tree.bytes);
  out += bytes_table(fmt::format("at the peak, in {}", name_of(e.peak_phase)), rows);
  rows = {
      {"allocated", e.counters.allocated}, {"reserved", e.counters.reserved}, {"device used", e.counters.device_used}};
  if (e.job.card) rows.emplace_back("capacity", e.counters.capacity);
  out += bytes_table("counter", rows);
  rows.clear();
  for (const PhasePeak& p : e.phases) rows.emplace_back(name_of(p.phase), p.peak);
  out += bytes_table("peak of a phase, of tensors", rows);
  out += advice(e);
  return out + list("Assumed", e.assumptions) + list("Warnings", e.warnings);
}

std::string rehearsal_markdown(const Rehearsal& r) {
  const std::string headline = rehearsal_headline(r);
  std::string out = "**" + cell(headline.substr(0, headline.find('\n'))) + "**\n" +
                    code(fmt::format("{}", fmt::join(r.command, " ")));
  const auto devices = device_rows(r);
  out += "\n" + row(devices.front()) + row(std::vector<std::string>(devices.front().size(), "---:"));
  for (std::size_t i = 1; i < devices.size(); ++i) out += row(devices[i]);
  const auto worst = worst_device(r);
  out += bytes_table("counter", {{"allocated", r.counters.allocated},
                                 {"reserved", r.counters.reserved},
                                 {"device used", r.counters.device_used},
                                 {"capacity", r.counters.capacity}});
  if (worst) {
    int step = 0;
    for (const RehearsedStep& s : worst->device->steps) {
      out += step == 0 ? "\n| step | allocated | reserved |\n| ---: | ---: | ---: |\n" : "";
      out += row({std::to_string(++step), format_bytes(s.allocated), format_bytes(s.reserved)});
    }
    std::vector<std::pair<std::string, Bytes>> places;
    for (const RehearsedPlace& p : worst->process->places)
      places.emplace_back(p.kind + ", " + shortened_place(p.place), p.bytes);
    if (!places.empty()) out += bytes_table("alive at the peak, by line", places);
  }
  return out + list("Assumed", {r.assumptions.begin(), r.assumptions.end()}) + list("Warnings", r.warnings);
}

}  // namespace vramplan
