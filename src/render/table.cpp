#include "render/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/visible.h"
#include "hardware/vendor.h"
#include "render/advice.h"
#include "render/need.h"
#include "render/segments.h"
#include "train/words.h"

namespace vramplan {
namespace {

std::size_t width_of(const std::string& s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& s, std::size_t width, bool right) {
  const std::string space(width > width_of(s) ? width - width_of(s) : 0, ' ');
  return right ? space + s : s + space;
}

std::string painted(std::string_view s, Verdict v, const TextStyle& style) {
  if (!style.colour) return std::string(s);
  const char* code = v == Verdict::fits ? "32" : v == Verdict::tight ? "33" : v == Verdict::does_not_fit ? "31" : "1";
  return fmt::format("\x1b[1;{}m{}\x1b[0m", code, s);
}

ByteUnit headline_unit(const TextStyle& style) {
  return style.unit == ByteUnit::automatic ? ByteUnit::gib : style.unit;
}

std::string headline_bytes(Bytes b, const TextStyle& style) { return format_bytes(b, headline_unit(style)); }

std::string signed_bytes(std::int64_t n, const TextStyle& style) {
  return (n < 0 ? "-" : "") + headline_bytes(Bytes(static_cast<std::uint64_t>(n < 0 ? -n : n)), style);
}

std::string headline(const Estimate& e, const TextStyle& style) {
  const Counters& c = e.counters;
  const std::string word = painted(name_of(e.verdict), e.verdict, style);
  if (!e.job.card)
    return fmt::format("needs {} at the peak of a step ({})\n",
                       painted(headline_bytes(c.device_used, style), e.verdict, style), name_of(e.verdict));
  const double share =
      c.capacity.count() ? 100 * static_cast<double>(e.margin) / static_cast<double>(c.capacity.count()) : 0;
  const Need need = need_of(e);
  return fmt::format("{}: needs {} of {} usable on {}{}; margin {} ({:.1f} %), uncertain by {}\n{}", word,
                     headline_bytes(need.itself, style), headline_bytes(c.capacity, style),
                     visible_word(e.job.card->name), gaps_words(e, need, headline_unit(style)),
                     signed_bytes(e.margin, style), share, headline_bytes(e.uncertainty, style),
                     need.cure.empty() ? "" : need.cure + "\n");
}

std::string bar(double share, bool utf8) {
  constexpr int kWidth = 24;
  const int n = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kWidth));
  std::string out;
  for (int i = 0; i < n; ++i) out += utf8 ? "█" : "#";
  return out;
}

const VendorWords& words_for(const Estimate& e) { return vendor_words(e.job.card ? e.job.card->vendor : ""); }

/// "max_memory_reserved" of "torch.cuda.max_memory_reserved".
std::string short_counter(std::string_view counter) {
  constexpr std::string_view kPrefix = "torch.cuda.";
  if (counter.starts_with(kPrefix)) counter.remove_prefix(kPrefix.size());
  return std::string(counter);
}

std::string breakdown(const Estimate& e, const TextStyle& style) {
  Table t({false, true, true, false});
  const auto whole = static_cast<double>(std::max<std::uint64_t>(e.tree.bytes.count(), 1));
  for (const ByteRow& r : e.tree.children) {
    const double share = static_cast<double>(r.bytes.count()) / whole;
    t.add({row_name(r.name, words_for(e)), format_bytes(r.bytes, style.unit), fmt::format("{:.1f} %", 100 * share),
           bar(share, style.utf8)});
  }
  t.add({"device used", format_bytes(e.tree.bytes, style.unit), "", ""});
  return fmt::format("\nAt the peak, in {}:\n{}", name_of(e.peak_phase), t.str());
}

std::string counters(const Estimate& e, const TextStyle& style) {
  Table t({false, true, false});
  t.add({"allocated", format_bytes(e.counters.allocated, style.unit), short_counter(words_for(e).allocated)});
  t.add({"reserved", format_bytes(e.counters.reserved, style.unit), short_counter(words_for(e).reserved)});
  t.add({"device used", format_bytes(e.counters.device_used, style.unit),
         fmt::format("{}; this one decides", words_for(e).monitor)});
  t.add({"in step 1", format_bytes(e.first_step.allocated, style.unit),
         fmt::format("allocated; {} reserved", format_bytes(e.first_step.reserved, style.unit))});
  if (e.host > Bytes()) t.add({"host", format_bytes(e.host, style.unit), "optimizer states and weights kept there"});
  std::string out = "\nAs tools count it:\n" + t.str();
  if (e.capacity.empty()) return out;
  Table chain({false, true, false});
  for (const CapacityLink& l : e.capacity) chain.add({l.name, format_bytes(l.bytes, style.unit), l.origin});
  return out + fmt::format("\nWhat {} offers:\n{}", e.job.card->name, chain.str());
}

std::string phases(const Estimate& e, const TextStyle& style) {
  Table t({false, true, false});
  for (const PhasePeak& p : e.phases)
    t.add({std::string(name_of(p.phase)), format_bytes(p.peak, style.unit), p.phase == e.peak_phase ? "<- peak" : ""});
  return "\nPeak of tensors by phase:\n" + t.str();
}

std::string logits(const Estimate& e, const TextStyle& style) {
  if (!e.logits) return {};
  const Logits& l = *e.logits;
  const bool sequences = e.job.model.encoder() && e.job.model.labels > 0;
  return fmt::format("\nLogits of {} {}, {} wide: {} the largest tensor, {} at once in {}, {} of it at the peak\n",
                     format_count(l.tokens), sequences ? "sequences" : "tokens", format_count(l.width),
                     format_bytes(l.largest, style.unit), format_bytes(l.together, style.unit), name_of(l.phase),
                     format_bytes(l.at_peak, style.unit));
}

std::string largest(const Estimate& e, const TextStyle& style) {
  Table t({true, true, false, false, false, false});
  for (const PeakTensor& k : e.tensors) {
    const std::string where = k.first_layer < 0 ? ""
                              : k.first_layer == k.last_layer
                                  ? fmt::format("layer {}", k.first_layer)
                                  : fmt::format("layers {}-{}", k.first_layer, k.last_layer);
    t.add({format_bytes(k.bytes, style.unit), fmt::format("{} x", k.count), std::string(name_of(k.category)), k.name,
           k.dtype + " " + k.shape, where});
  }
  return "\nLargest tensors at the peak:\n" + t.str();
}

std::string checkpointing(const Estimate& e, const TextStyle& style) {
  if (!e.without_checkpointing) return {};
  Table t({false, true, true});
  t.add({"", "with", "without"});
  t.add({"held after forward", format_bytes(e.held, style.unit),
         format_bytes(e.without_checkpointing->held, style.unit)});
  t.add({"peak of tensors", format_bytes(e.peak, style.unit), format_bytes(e.without_checkpointing->peak, style.unit)});
  return fmt::format("\nCheckpointing ({}), {:.1f} % more FLOPs:\n{}", checkpoint_word(e.job.run.checkpoint),
                     100 * e.recompute_flops / std::max(1.0, e.step_flops - e.recompute_flops), t.str());
}

std::string milliseconds(double seconds) { return fmt::format("{:.1f} ms", 1e3 * seconds); }

std::string times(const Estimate& e) {
  if (!e.time) return {};
  const StepTime& t = *e.time;
  Table rows({false, true, true});
  for (const auto& [name, seconds] : {std::pair{"forward", t.forward},
                                      {"recompute", t.recompute},
                                      {"backward", t.backward},
                                      {"optimizer", t.optimizer},
                                      {"step", t.total()}})
    if (seconds > 0) rows.add({name, milliseconds(seconds), fmt::format("{:.1f} %", 100 * seconds / t.total())});
  return fmt::format("\nTime of a step, a roofline of {} ({:.0f} tokens/s):\n{}", t.card, t.tokens_a_second,
                     rows.str());
}

std::string notes(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string out = fmt::format("\n{}:\n", title);
  for (const std::string& l : lines) out += "  - " + l + "\n";
  return out;
}

std::string percent(double share) { return fmt::format("{:.4f} %", 100 * share); }

}  // namespace

std::string Table::str(std::string_view indent) const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) line += (i ? "  " : "") + padded(row[i], widths[i], right_[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

namespace {

/// "eager", "sdpa: flash"
std::string attention_word(const Estimate& e) {
  std::vector<std::string> names;
  names.reserve(e.attention_kernels.size());
  for (const AttentionKernel& k : e.attention_kernels) names.push_back(k.name);
  const std::string asked = word_for(kAttentions, e.job.run.attention);
  const bool chosen = e.job.run.attention == AttentionForm::sdpa && !names.empty();
  return chosen ? fmt::format("{}: {}", asked, fmt::join(names, " and ")) : asked;
}

}  // namespace

std::string job_line(const Estimate& e) {
  const TrainOptions& r = e.job.run;
  return fmt::format("{}, {} parameters{}; micro-batch {}, {}, {} ({}), attention {}, checkpoint {}", e.job.model.name,
                     format_count(e.parameters),
                     e.trainable == e.parameters ? "" : fmt::format(" ({} trainable)", format_count(e.trainable)),
                     batch_word(r), word_for(kPrecisions, r.precision), optimizer_word(r.optimizer),
                     word_for(kForms, r.optimizer.form), attention_word(e), checkpoint_word(r.checkpoint));
}

std::string estimate_table(const Estimate& e, const TextStyle& style) {
  return headline(e, style) + visible(job_line(e) + "\n" + breakdown(e, style) + counters(e, style) + phases(e, style) +
                                      logits(e, style) + checkpointing(e, style) + times(e) + largest(e, style) +
                                      segments_table(e, style) + (e.advice ? advice_table(*e.advice) : "") +
                                      notes("Warnings", e.warnings) + notes("Assumed", e.assumptions));
}

namespace {

/// Words in lines of at most `kWidth` columns, each after `indent`.
std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t kWidth = 100;
  std::string out, line(indent, ' ');
  for (std::string_view rest = text; !rest.empty();) {
    const std::string word = take_item(rest, ' ');
    if (line.size() > indent && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line.assign(indent, ' ');
    }
    line += (line.size() > indent ? " " : "") + word;
  }
  return out + line + "\n";
}

}  // namespace

std::string explain_table(const Explanation& e) {
  std::string out = fmt::format("{}: the textbook with your numbers, and what the program found\n", e.job.model.name);
  for (const FormulaRow& r : e.rows) {
    out += fmt::format("\n  {:<15} {}\n  {:<15} = {}\n  {:<15} = {} bytes ({})\n", r.name, r.formula, "", r.numbers, "",
                       format_count(static_cast<std::int64_t>(r.value.count())), format_bytes(r.value));
    if (r.found)
      out += fmt::format("  {:<15} found {} bytes ({})\n", "",
                         format_count(static_cast<std::int64_t>(r.found->count())), format_bytes(*r.found));
    out += wrapped(r.why, 18);
  }
  if (!e.recompute.empty()) out += "\nWhat recomputation costs, in shares of the step without it:\n";
  for (const ShareRow& r : e.recompute)
    out += fmt::format("\n  {:<15} {}\n  {:<15} = {} = {:+.1f} %\n  {:<15} found {:+.1f} %\n", r.name, r.formula, "",
                       r.numbers, 100 * r.value, "", 100 * r.found) +
           wrapped(r.why, 18);
  return out;
}

std::string validate_table(const std::vector<ValidatedGroup>& groups) {
  Table t({false, true, true, true, true, true, true, true, true, true, false});
  t.add({"group", "cases", "expressed", "params exact", "held exact", "exact", "median", "p95", "worst", "bias", ""});
  for (const ValidatedGroup& g : groups)
    t.add({g.name, std::to_string(g.cases), std::to_string(g.expressed), std::to_string(g.parameters_exact),
           std::to_string(g.held_exact), std::to_string(g.exact), percent(g.median), percent(g.p95), percent(g.worst),
           percent(g.bias), within_bounds(g) ? "" : "OUT OF BOUNDS"});
  std::string out = t.str("");
  const auto reasons = reasons_not_expressed(groups);
  if (reasons.empty()) return out;
  Table why({true, false});
  for (const auto& [reason, cases] : reasons) why.add({std::to_string(cases), reason});
  return out + "\nNot expressed, by reason:\n" + why.str();
}

}  // namespace vramplan
