// vramplan rehearse: the user's own program on a card that is not there.
#include <fmt/format.h>

#include <cstdio>

#include "cli/hook.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/values.h"
#include "read/data.h"
#include "rehearse/rehearsal.h"
#include "render/markdown.h"
#include "render/rehearsal.h"

namespace vramplan {
namespace {

class RehearseCommand final : public Command {
 public:
  std::string name() const override { return "rehearse"; }
  std::string summary() const override { return "run your own PyTorch program on a GPU that is not there"; }
  std::string examples() const override {
    return "  vramplan rehearse --gpu h100-sxm -- python train.py --my args\n"
           "  vramplan rehearse --gpu rtx-4090 --steps 2 --json out.json -- python -m my.module\n"
           "  vramplan rehearse --gpu h100-sxm --gpus 8 -- torchrun --nproc-per-node 8 train.py\n"
           "  vramplan rehearse --gpu h100-sxm --world 64 -- python train_fsdp.py\n"
           "  vramplan rehearse --gpu a100-80gb --compare --model llama-3.1-8b --seq 4096 -- python train.py\n"
           "PyTorch itself runs, with its own allocator; device memory is counted, kernels do nothing, and what is "
           "read\n"
           "back is zero. Files are written as ever. The report goes to standard error.\n"
           "The program's exit status is passed on; 1 when it ran out of memory, 3 when what ran is no evidence: no\n"
           "optimizer step on the card, or PyTorch's counters could not be read.\n";
  }
  bool writes_json_itself() const override { return true; }
  bool takes_rest() const override { return true; }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    const std::string r = "Rehearsal";
    const std::vector<Flag> mine{
        {"command", "-- COMMAND ...", "what to run, with its own flags", &command_, r},
        {"--gpus", "N", "cards in the machine (default: 1)", &gpus_, r},
        {"--world", "N", "run as rank 0 of N, in one process", &world_, r},
        {"--steps", "N", "end the program after N optimizer steps", &steps_, r},
        {"--compare", "", "set the estimate for the same flags beside it", &compare_, r},
        {"--no-places", "", "do not remember which lines allocate: faster", &no_places_, r},
        {"--padded", "", "sequences are padded: attention masks that mask nothing are dropped otherwise", &padded_, r},
        {"--routing", "HOW", "tokens to experts, where the program reads it back: uniform or skewed", &routing_, r},
        {"--try-expandable", "", "run it a second time, silently, with expandable segments", &expandable_, r},
        {"--strict", "", "no verdict when a CUDA call had no answer here and failed", &strict_, r},
        {"--html", "FILE", "also write the report as a page: what lived when, phases, lines", &html_, r},
        {"--md", "FILE", "also write its tables as Markdown", &md_, r},
        {"--json", "FILE", "also write the report as JSON", &json_, r}};
    all.insert(all.end(), mine.begin(), mine.end());
    return all;
  }

  Exit run(const Context& context) override {
    command_.insert(command_.end(), context.rest.begin(), context.rest.end());
    if (command_.empty())
      throw UserError("no command to rehearse", "rehearse", "vramplan rehearse --gpu h100-sxm -- python train.py",
                      Exit::usage);
    job_.complete(context);
    const Job job = compare_ ? job_.job(context) : job_.card(context);
    std::optional<PredictedRun> predicted;
    if (compare_) predicted = predict_run(job);
    const Data data(context.data_dir);
    for (const std::string& file : {json_, html_, md_})  // a folder that is not there is told before the work
      if (!file.empty()) write_output(file, "");
    const Rehearsal r = rehearse(job, options(), hook_files(data, "rehearse"), all_cards(data.gpus()));
    std::optional<Rehearsal> again;
    if (expandable_) again = with_expandable_segments(job, data);
    fmt::print(stderr, "\n{}", rehearsal_table(r, predicted));
    if (again) fmt::print(stderr, "{}", expandable_line(r, *again));
    if (!json_.empty()) write_output(json_, rehearsal_json(r, predicted, again));
    if (!md_.empty()) write_output(md_, rehearsal_markdown(r));
    if (!html_.empty()) write_output(html_, rehearsal_html(r, predicted));
    return status(r);
  }

 private:
  /// The same program once more; what it prints is not shown.
  Rehearsal with_expandable_segments(Job job, const Data& data) const {
    RehearsalOptions o = options();
    o.places = false;
    o.command = {"sh", "-c", "exec \"$@\" >/dev/null 2>&1", "sh"};
    o.command.insert(o.command.end(), command_.begin(), command_.end());
    job.allocator = "expandable_segments:True";
    return rehearse(job, o, hook_files(data, "rehearse"));
  }

  RehearsalOptions options() const {
    RehearsalOptions o;
    o.command = command_;
    o.strict = strict_;
    o.places = !no_places_;
    o.padded = padded_;
    o.routing = word(kRoutings, routing_, "--routing", Routing::uniform);
    const std::int64_t cards = count_or(gpus_, "--gpus", 1);
    if (cards < 1 || cards > 64) throw UserError("1 to 64 cards", "--gpus", "for example --gpus 8", Exit::usage);
    o.cards = static_cast<int>(cards);
    const std::int64_t world = count_or(world_, "--world", 1);
    if (world < 1 || world > 1000000)
      throw UserError("1 to 1,000,000 ranks", "--world", "for example --world 8", Exit::usage);
    o.world = static_cast<int>(world);
    o.steps = count_or(steps_, "--steps", 0);
    return o;
  }

  static Exit status(const Rehearsal& r) {
    if (r.verdict == Verdict::does_not_fit) return Exit::does_not_fit;
    if (r.status != 0) return static_cast<Exit>(r.status);
    return r.verdict == Verdict::unknown ? Exit::bad_input : Exit::fits;
  }

  JobFlags job_;
  std::vector<std::string> command_;
  std::string gpus_, world_, steps_, json_, html_, md_, routing_;
  bool compare_ = false, no_places_ = false, padded_ = false, strict_ = false, expandable_ = false;
};

}  // namespace

std::unique_ptr<Command> rehearse_command() { return std::make_unique<RehearseCommand>(); }

}  // namespace vramplan
