// vramplan probe: the step run for real, beside its prediction.
#include <fmt/format.h>

#include "cli/job_flags.h"
#include "cli/values.h"
#include "render/probe.h"

namespace vramplan {
namespace {

class ProbeCommand final : public Command {
 public:
  std::string name() const override { return "probe"; }
  std::string summary() const override { return "run the step for real and set it beside the prediction"; }
  std::string examples() const override {
    return "  vramplan probe train --layers 4 --hidden 256 --heads 8 --micro-batch 2 --seq 128 --segments 2\n"
           "  vramplan probe train --layers 2 --hidden 64 --heads 4 --vocab 512 --seq 64 --checkpoint per-layer "
           "--self-test\n";
  }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    const std::string p = "Probe";
    const std::vector<Flag> mine{
        {"what", "train", "what to probe: train, a step of training", &words_, p},
        {"--backend", "NAME", "auto or host: there is no GPU backend yet (default: auto)", &backend_, p},
        {"--dtype", "KIND", "another name of --precision", &dtype_, p},
        {"--steps", "K", "timed steps, after one to warm up (default: 3)", &steps_, p},
        {"--self-test", "", "also change one bit and see that the comparison tells", &self_test_, p}};
    all.insert(all.end(), mine.begin(), mine.end());
    return all;
  }

  Exit run(const Context& context) override {
    if (words_.size() != 1 || words_[0] != "train")
      throw UserError(words_.empty() ? "what to probe?" : fmt::format("'{}' cannot be probed", words_[0]), "probe",
                      "vramplan probe train ...", Exit::usage);
    if (backend_ == "cuda")
      throw UserError("there is no GPU backend yet", "--backend", "use --backend host", Exit::bad_input);
    if (!backend_.empty() && backend_ != "auto" && backend_ != "host")
      throw UserError(fmt::format("'{}' is not a backend", backend_), "--backend", "known: auto, host", Exit::usage);
    job_.complete(context);
    if (!dtype_.empty() && job_.given("--precision"))
      throw UserError("--dtype and --precision say the same", "--dtype", "give one of them", Exit::usage);
    if (!dtype_.empty()) job_.set("--precision", dtype_);
    ProbeOptions options;
    options.self_test = self_test_;
    const std::int64_t steps = count_or(steps_, "--steps", options.steps);
    if (steps < 1 || steps > 1000)
      throw UserError("1 to 1,000 timed steps", "--steps", "for example --steps 5", Exit::usage);
    options.steps = static_cast<int>(steps);
    const Probe p = probe_train(job_.job(context), options);
    if (context.json)
      fmt::print("{}", probe_json(p));
    else
      fmt::print("{}{}", backend_ == "host" ? "" : "no GPU backend: on the host\n", probe_table(p));
    return agrees(p) ? Exit::fits : Exit::check_failed;
  }

 private:
  JobFlags job_;
  std::vector<std::string> words_;
  std::string backend_, dtype_, steps_;
  bool self_test_ = false;
};

}  // namespace

std::unique_ptr<Command> probe_command() { return std::make_unique<ProbeCommand>(); }

}  // namespace vramplan
