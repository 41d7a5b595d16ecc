// vramplan timeline: live bytes through a step, as a line, a picture, a page or a trace.
#include <fmt/format.h>

#include "cli/job_flags.h"
#include "cli/output.h"
#include "render/html.h"
#include "render/trace.h"

namespace vramplan {
namespace {

constexpr std::size_t kColumns = 72;

/// A column for each sample, eight levels high; a row of letters names the phases.
std::string sparkline(const Timeline& t, bool utf8) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kPlain[] = {".", ".", ":", "-", "=", "+", "*", "#"};
  const char* const* const levels = utf8 ? kBlocks : kPlain;
  const Bytes top = t.samples[t.peak].live;
  std::string line, phases;
  for (const TimelineSample& s : t.samples) {
    const std::uint64_t level =
        top == Bytes() ? 0 : (s.live.count() / 8 * 7) / std::max<std::uint64_t>(top.count() / 8, 1);
    line += levels[std::min<std::uint64_t>(level, 7)];
    phases += name_of(s.phase)[0];
  }
  return fmt::format("  {}\n  {}\n", line, phases);
}

class TimelineCommand final : public Command {
 public:
  std::string name() const override { return "timeline"; }
  std::string summary() const override { return "live bytes through a step, event by event"; }
  std::string examples() const override {
    return "  vramplan timeline --model gpt2 --micro-batch 8 --seq 1024 --segments 4\n"
           "  vramplan timeline --model gpt2 --micro-batch 8 --seq 1024 --segments 4 --html t.html --trace t.json\n";
  }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    all.push_back(
        {"--html", "FILE", "a page with the picture, tooltips and the whole estimate", &html_, "Output", false, true});
    all.push_back({"--svg", "FILE", "the picture alone", &svg_, "Output", false, true});
    all.push_back({"--trace", "FILE", "for Perfetto and chrome://tracing", &trace_, "Output", false, true});
    return all;
  }
  Exit run(const Context& context) override {
    job_.complete(context);
    const Job job = job_.job(context);
    const bool files = !html_.empty() || !svg_.empty() || !trace_.empty();
    const Timeline t = timeline_of(job, files || context.json ? kTimelineSamples : kColumns);
    if (!html_.empty())
      write_output(context, html_, estimate_html(estimate(job), t, segments_curve(job), context.command));
    if (!svg_.empty()) write_output(context, svg_, timeline_svg_file(t));
    if (!trace_.empty()) write_output(context, trace_, timeline_trace(t));
    if (context.json)
      print(timeline_json(t, job));
    else if (!files)
      print(text(job, t, context.utf8));
    return Exit::fits;
  }

 private:
  static std::string text(const Job& job, const Timeline& t, bool utf8) {
    const TimelineSample& peak = t.samples[t.peak];
    return fmt::format(
        "{}: {} of tensors at most, in {}{}{}, event {} of {}\n\n{}  forward, loss, recompute, backward, optimizer\n",
        job.model.name, format_bytes(peak.live), name_of(peak.phase),
        peak.layer < 0 ? "" : fmt::format(", layer {}", peak.layer), peak.module.empty() ? "" : ", " + peak.module,
        peak.event, t.events, sparkline(t, utf8));
  }

  JobFlags job_;
  std::string html_, svg_, trace_;
};

}  // namespace

std::unique_ptr<Command> timeline_command() { return std::make_unique<TimelineCommand>(); }

}  // namespace vramplan
