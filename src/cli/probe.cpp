// vramplan probe: measure. A step of training, the cards of this machine, somebody else's command.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "cli/hook.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/values.h"
#include "probe/train.h"
#include "render/device.h"
#include "render/probe.h"
#include "render/watch.h"

namespace vramplan {
namespace {

class ProbeCommand final : public Command {
 public:
  std::string name() const override { return "probe"; }
  std::string summary() const override { return "measure: a step run for real, the cards here, a command of yours"; }
  std::string examples() const override {
    return "  vramplan probe train --layers 4 --hidden 256 --heads 8 --micro-batch 2 --seq 128 --segments 2\n"
           "  vramplan probe overhead --write calibration.json\n"
           "  vramplan probe watch -- python train.py --my args\n"
           "  vramplan probe watch --compare --model gpt2 --seq 1024 --json report.json -- python train.py\n";
  }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    const std::string t = "Of train", w = "Of watch", o = "Of overhead";
    const std::vector<Flag> mine{
        {"what", "train|device|watch|overhead", "what to probe", &words_, "Options"},
        {"--backend", "NAME", "auto, cuda, host, or dry, which computes nothing (default: auto)", &backend_, t},
        {"--gemm", "WHO", "own or cublas: makes the products on a card (default: own)", &gemm_, t, true},
        {"--dtype", "KIND", "another name of --precision", &dtype_, t},
        {"--steps", "K", "timed steps, after one to warm up (default: 3)", &steps_, t},
        {"--self-test", "", "also change one bit and see that the comparison tells", &self_test_, t},
        {"--compare", "", "set the estimate for the same flags beside it", &compare_, w},
        {"--append", "FILE", "add the job and its peaks to a file for validate", &append_, w, false, true},
        {"--no-torch-hook", "", "do not ask PyTorch for its counters at the end", &no_hook_, w},
        {"--device", "N", "a CUDA device, also of train (default: 0)", &device_, o},
        {"--usable", "", "also try how much can be allocated: takes all of the card for a moment", &usable_, o},
        {"--write", "FILE", "write figures for --calibration, also of train", &write_, o, false, true},
        {"--json", "[FILE]", "one JSON document; of watch into FILE, as standard output is the command's", &json_,
         "Output", false, true}};
    all.insert(all.end(), mine.begin(), mine.end());
    return all;
  }
  bool writes_json_itself() const override { return true; }
  bool takes_rest() const override { return true; }

  Exit run(const Context& context) override {
    const std::string what = words_.size() == 1 ? words_[0] : "";
    const bool json = std::find(context.typed.begin(), context.typed.end(), "--json") != context.typed.end();
    const std::vector<std::string> all{"train", "device", "watch", "overhead"};
    if (std::find(all.begin(), all.end(), what) == all.end())
      throw UserError(what.empty() ? "what to probe?" : fmt::format("'{}' cannot be probed", what), "probe",
                      did_you_mean(what, all, "known: train, device, watch, overhead"), Exit::usage);
    if (what != "watch" && !context.rest.empty())
      throw UserError("only a command that is watched stands behind --", context.rest[0], "vramplan probe watch -- ...",
                      Exit::usage);
    if (what == "device") return device(context, json);
    if (what == "watch") return watch_command(context, json);
    if (what == "overhead") return overhead(context, json);
    return train(context, json);
  }

 private:
  void deliver(const Context& context, const std::string& text) const {
    write_output(context, json_.empty() ? "-" : json_, text);
  }

  Exit device(const Context& context, bool json) const {
    const DeviceReport r = device_report();
    if (json)
      deliver(context, device_json(r));
    else
      print(device_table(r));
    return r.cards.empty() ? Exit::bad_input : Exit::fits;
  }

  Exit overhead(const Context& context, bool json) const {
    const OverheadReport r = probe_overhead(device_number(), usable_);
    if (!write_.empty()) write_output(context, write_, calibration_json(r));
    deliver(context, json ? overhead_json(r) : overhead_table(r));
    return Exit::fits;
  }

  /// Only what ran to its end: a peak of half a run says little.
  void append(const WatchReport& r, const Estimate& predicted) const {
    const std::time_t now = std::time(nullptr);
    const std::string row =
        r.status == 0 ? watch_row(r, predicted, fmt::format("{:%Y%m%dT%H%M%S}", fmt::gmtime(now))) : std::string();
    if (row.empty())
      tell(fmt::format("warning: nothing is added to {}: {}\n", append_,
                       r.status == 0 ? "nothing was measured" : "the command failed"));
    append_to(append_, row);
  }

  Exit watch_command(const Context& context, bool json) {
    if (context.rest.empty())
      throw UserError("no command to watch", "probe watch", "vramplan probe watch -- python train.py", Exit::usage);
    if (json && json_.empty())
      throw UserError("a file is wanted: standard output is the command's", "--json", "write --json report.json",
                      Exit::usage);
    if (json) check_output(json_);  // a folder that is not there is told before the work
    std::optional<Estimate> predicted;
    if (compare_ || !append_.empty()) {
      job_.complete(context);
      predicted = estimate(job_.job(context));
    }
    if (!append_.empty()) check_output(append_);
    WatchOptions options;
    options.command = context.rest;
    if (!no_hook_) options.hook = hook_files(Data(context.data_dir), "probe");
    const WatchReport r = watch(options);
    tell("\n" + watch_table(r, compare_ ? predicted : std::nullopt));
    if (json) write_output(context, json_, watch_json(r, compare_ ? predicted : std::nullopt));
    if (!append_.empty()) append(r, *predicted);
    return static_cast<Exit>(r.status);
  }

  int device_number() const { return static_cast<int>(std::min<std::int64_t>(count_or(device_, "--device", 0), 1024)); }

  ProbeOn backend() const {
    constexpr std::pair<std::string_view, ProbeOn> kBackends[]{{"", ProbeOn::automatic},
                                                               {"auto", ProbeOn::automatic},
                                                               {"cuda", ProbeOn::cuda},
                                                               {"host", ProbeOn::host},
                                                               {"dry", ProbeOn::dry}};
    for (const auto& [name, on] : kBackends)
      if (name == backend_) return on;
    throw UserError(fmt::format("'{}' is not a backend", backend_), "--backend",
                    did_you_mean(backend_, {"auto", "cuda", "host", "dry"}, "known: auto, cuda, host, dry"),
                    Exit::usage);
  }

  /// The card that was measured, as the catalogue has it.
  static std::optional<Card> catalogued(const Context& context, const Probe& p) {
    try {
      if (p.card) return find_card(Data(context.data_dir).gpus(), p.card->name);
    } catch (const UserError&) {  // shares of peaks that nobody knows are not written
    }
    return std::nullopt;
  }

  Exit train(const Context& context, bool json) {
    ProbeOptions options;
    options.on = backend();
    options.device = device_number();
    if (!gemm_.empty() && gemm_ != "own" && gemm_ != "cublas")
      throw UserError(fmt::format("'{}' makes no products", gemm_), "--gemm", "known: own, cublas", Exit::usage);
    options.cublas = gemm_ == "cublas";
    job_.complete(context);
    if (!dtype_.empty() && job_.given("--precision"))
      throw UserError("--dtype and --precision say the same", "--dtype", "give one of them", Exit::usage);
    if (!dtype_.empty()) job_.set("--precision", dtype_);
    options.self_test = self_test_;
    const std::int64_t steps = count_or(steps_, "--steps", options.steps);
    if (steps < 1 || steps > 1000)
      throw UserError("1 to 1,000 timed steps", "--steps", "for example --steps 5", Exit::usage);
    options.steps = static_cast<int>(steps);
    if (options.on == ProbeOn::host || options.on == ProbeOn::dry)
      for (const auto& [value, flag] : {std::pair{&write_, "--write"}, {&gemm_, "--gemm"}, {&device_, "--device"}})
        if (!value->empty())
          throw UserError(fmt::format("{} is for a card", flag), flag, "leave it out, or --backend cuda", Exit::usage);
    if (!write_.empty()) check_output(write_);  // a folder that is not there is told before the work
    options.rates = !write_.empty();
    const Probe p = probe_train(job_.job(context), options);
    if (!write_.empty()) write_output(context, write_, calibration_json(p, catalogued(context, p)));
    if (json)
      deliver(context, probe_json(p));
    else
      print(probe_table(p));
    return agrees(p) ? Exit::fits : Exit::check_failed;
  }

  JobFlags job_;
  std::vector<std::string> words_;
  std::string backend_, gemm_, dtype_, steps_, json_, device_, write_, append_;
  bool self_test_ = false, compare_ = false, no_hook_ = false, usable_ = false;
};

}  // namespace

std::unique_ptr<Command> probe_command() { return std::make_unique<ProbeCommand>(); }

}  // namespace vramplan
