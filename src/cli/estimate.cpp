// vramplan estimate: what a step needs, and whether it fits.
#include <fmt/format.h>

#include "base/version.h"
#include "base/visible.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/strict.h"
#include "cli/values.h"
#include "read/data.h"
#include "render/flat.h"
#include "render/html.h"
#include "render/json.h"
#include "render/markdown.h"
#include "render/origins.h"
#include "render/table.h"
#include "render/xlsx.h"

namespace vramplan {
namespace {

constexpr Word<ByteUnit> kUnits[]{
    {"auto", ByteUnit::automatic}, {"MiB", ByteUnit::mib}, {"GiB", ByteUnit::gib}, {"GB", ByteUnit::gb}};

class EstimateCommand final : public Command {
 public:
  std::string name() const override { return "estimate"; }
  std::string summary() const override { return "peak memory of a training step, and whether it fits a card"; }
  std::string examples() const override {
    return "  vramplan estimate --model llama-3.1-8b --gpu a100-80gb --micro-batch 1 --seq 8192 --segments 32\n"
           "  vramplan estimate --config config.json --gpu \"RTX 3090\" --micro-batch 4 --seq 2048 --json\n"
           "  vramplan estimate --layers 100 --hidden 1024 --heads 16 --micro-batch 8 --seq 512 --segments 10\n"
           "  vramplan estimate --model gpt2-xl --gpu rtx-4090 --micro-batch 8 --seq 1024 --precision amp-bf16 "
           "--advise\n";
  }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    all.push_back(
        {"--advise", "", "what would save memory and what it costs, also when the job fits", &advise_, "Output"});
    all.push_back({"--html", "FILE", "also write a page: verdict, timeline, tensors, what to change", &html_, "Output",
                   false, true});
    all.push_back(
        {"--show-origin", "", "print where each setting comes from, and nothing else", &origins_, "Output", true});
    all.push_back({"--xlsx", "FILE", "also write a workbook with live formulas", &xlsx_, "Output", false, true});
    all.push_back({"--units", "UNIT", "of the table: auto, GiB, GB, MiB (default: auto)", &units_, "Output", true});
    all.push_back({"-v,--verbose", "", "also every setting, and where it comes from", &verbose_, "Output", true});
    all.push_back({"--md", "", "tables for an issue or a wiki, as Markdown", &md_, "Output"});
    all.push_back({"--csv", "", "one row of stable columns, for spreadsheets", &csv_, "Output"});
    all.push_back({"--flat", "", "the same row as a JSON object", &flat_, "Output", true});
    all.push_back(strict_flag(strict_, "exit with 1 for 'tight' too"));
    return all;
  }
  Exit run(const Context& context) override {
    job_.complete(context);
    if (origins_) {
      print(context.json ? origins_json(job_.all()) : origins_table(job_.all()));
      return Exit::fits;
    }
    Estimate e = estimate(job_.job(context));
    if (shows_advice(context) && (advise_ || e.verdict == Verdict::does_not_fit))
      e.advice = advise(e, all_cards(Data(context.data_dir).gpus()));
    if (!html_.empty())
      write_output(context, html_,
                   estimate_html(e, timeline_of(e.job, kTimelineSamples), segments_curve(e.job), context.command));
    if (!xlsx_.empty())
      write_bytes(context, xlsx_,
                  xlsx_of({e,
                           cuda_cards(all_cards(Data(context.data_dir).gpus())),
                           {flat_values(e)},
                           context.command,
                           version_text()}));
    if (html_ != "-" && xlsx_ != "-") print_painted(text_of(e, context));
    return status_of(e.verdict, strict_);
  }

 private:
  /// Rows for spreadsheets have no advice, and it takes longer than all else.
  bool shows_advice(const Context& context) const {
    const bool row = !md_ && (csv_ || flat_);
    return !html_.empty() || (!context.quiet && !row && xlsx_ != "-");
  }
  std::string text_of(const Estimate& e, const Context& context) const {
    if (md_) return visible(estimate_markdown(e, context.command));
    if (csv_) return visible(fmt::format("{}\n{}\n", flat_csv_header(), flat_csv_row(flat_values(e))));
    if (flat_) return visible(flat_json(e));
    if (context.json) return visible(estimate_json(e));
    const std::string table =
        estimate_table(e, {context.colour, context.utf8, word(kUnits, units_, "--units", ByteUnit::automatic)});
    return verbose_ ? table + "\nSettings:\n" + visible(origins_table(job_.all())) : table;
  }

  JobFlags job_;
  std::string html_, xlsx_, units_;
  bool advise_ = false, csv_ = false, flat_ = false, md_ = false, origins_ = false, verbose_ = false, strict_ = false;
};

}  // namespace

std::unique_ptr<Command> estimate_command() { return std::make_unique<EstimateCommand>(); }

}  // namespace vramplan
