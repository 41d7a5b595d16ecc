// vramplan plan: what to run.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/strict.h"
#include "cli/sweep.h"
#include "cli/values.h"
#include "read/data.h"
#include "render/plan.h"
#include "render/sweep.h"

namespace vramplan {
namespace {

/// "rtx-4090=0.35": names as --gpu takes them.
std::vector<Price> prices_of(const std::vector<std::string>& items, std::string_view gpus) {
  std::vector<Price> out;
  for (const std::string& item : items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos)
      throw UserError(fmt::format("'{}' is not a price", item), "--price", "write CARD=USD_AN_HOUR", Exit::usage);
    out.push_back({find_card(gpus, item.substr(0, equals)).id, number(item.substr(equals + 1), "--price")});
  }
  return out;
}

class PlanCommand final : public Command {
 public:
  std::string name() const override { return "plan"; }
  std::string summary() const override {
    return "what fits: the largest batch or sequence, the smallest card, the least recomputation";
  }
  std::string examples() const override {
    return "  vramplan plan --model llama-3.1-8b --gpu a100-80gb --seq 8192\n"
           "  vramplan plan --model llama-3.1-8b --gpu a100-80gb --seq 8192 --max micro-batch\n"
           "  vramplan plan --model llama-3.1-8b --gpu h200 --micro-batch 1 --max seq --multiple 128\n"
           "  vramplan plan --model qwen2.5-7b --seq 4096 --micro-batch 1 --smallest gpu\n"
           "  vramplan plan --model gpt2-xl --gpu rtx-4090 --seq 1024 --micro-batch 8 --min recompute\n"
           "  vramplan plan --model gpt2 --gpu t4 --seq 1024 --sweep micro-batch=1..16*2 --sweep segments=all --csv\n"
           "  vramplan plan --model gpt2 --gpu t4 --seq 1024 --sweep micro-batch=1..64 --sweep "
           "checkpoint=none,per-layer "
           "--where fits --sort tokens/s --top 5\n";
  }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    const std::string q = "Question";
    const std::vector<Flag> mine{
        {"--max", "WHAT", "the largest micro-batch, or seq, that fits", &max_, q},
        {"--smallest", "WHAT", "the smallest gpu on which it fits", &smallest_, q},
        {"--min", "WHAT", "the least recompute with which it fits (the question asked by default)", &min_, q},
        {"--multiple", "N", "of sequence lengths (default: 1)", &multiple_, q},
        {"--allow-tight", "", "count 'tight' as fitting", &allow_tight_, q},
        {"--all", "", "show every candidate, and what dominates it", &all_, q},
        {"--price", "CARD=USD", "an hour of a card costs this; the cheapest is asked for then", &prices_, q},
        {"--sweep", "FLAG=VALUES",
         "every combination: a,b,c or a..b or a..b*2 or a..b+8, or all of segments, gpu, precision, optimizer, "
         "optimizer-form, attention, loss",
         &sweep_.sweeps, q},
        {"--where", "VERDICTS", "of a sweep, only these rows: fits,tight", &sweep_.where, q},
        {"--sort", "KEY", "of a sweep: margin, tokens/s, device-used, or a swept flag", &sweep_.sort, q},
        {"--top", "K", "of a sweep, only the first rows", &sweep_.top, q},
        {"--jobs", "N", "threads of a sweep (default: all cores)", &sweep_.jobs, q},
        {"--csv", "", "rows of a sweep as CSV", &csv_, q}};
    all.insert(all.end(), mine.begin(), mine.end());
    all.push_back(strict_flag(strict_, "exit with 1 when the answer, or a row of a sweep, does not fit or is tight"));
    return all;
  }
  Exit run(const Context& context) override {
    job_.complete(context);
    if (!sweep_.sweeps.empty()) return sweep(context);
    if (max_ == "seq" && !job_.given("--seq")) job_.set("--seq", multiple_.empty() ? "1" : multiple_);
    const Job job = job_.job(context);
    const Plan plan = answer(job, context);
    print(context.json ? plan_json(plan, job) : plan_table(plan, all_));
    return plan.answer ? status_of(plan.candidates[*plan.answer].verdict, strict_) : Exit::does_not_fit;
  }

 private:
  Plan answer(const Job& job, const Context& context) {
    if (int(!max_.empty()) + int(!smallest_.empty()) + int(!min_.empty()) > 1)
      throw UserError("one question at a time", "--max", "give one of --max, --smallest and --min", Exit::usage);
    PlanOptions options;
    options.allow_tight = allow_tight_;
    options.multiple = count_or(multiple_, "--multiple", 1);
    if (options.multiple < 1)
      throw UserError("sequence lengths are multiples of at least 1", "--multiple", "for example 128", Exit::usage);
    if (max_ == "micro-batch") return largest_micro_batch(job, options);
    if (max_ == "seq") return longest_sequence(job, options);
    if (smallest_ == "gpu") {
      const Data data(context.data_dir);
      return smallest_card(job, all_cards(data.gpus()), prices_of(prices_, data.gpus()), options);
    }
    options.thorough = !min_.empty();
    if (min_ == "recompute" || (max_.empty() && smallest_.empty() && min_.empty()))
      return least_recompute(job, options);
    throw UserError(fmt::format("'{}' is not a question", max_ + smallest_ + min_), "plan",
                    "known: --max micro-batch, --max seq, --smallest gpu, --min recompute", Exit::usage);
  }

  Exit sweep(const Context& context) {
    const SweepTable table = run_sweep(job_, sweep_, context);
    print(csv_ ? sweep_csv(table) : context.json ? sweep_json(table) : sweep_text(table));
    if (!table.complete) return Exit::interrupted;
    return status_of_many(strict_, std::all_of(table.rows.begin(), table.rows.end(), [](const SweepRow& r) {
                            return status_of(r.verdict, true) == Exit::fits;
                          }));
  }

  JobFlags job_;
  std::string max_, smallest_, min_, multiple_;
  bool allow_tight_ = false, all_ = false, csv_ = false, strict_ = false;
  std::vector<std::string> prices_;
  SweepFlags sweep_;
};

}  // namespace

std::unique_ptr<Command> plan_command() { return std::make_unique<PlanCommand>(); }

}  // namespace vramplan
