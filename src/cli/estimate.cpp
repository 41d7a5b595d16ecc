// vramplan estimate: what a step needs, and whether it fits.
#include <fmt/format.h>

#include "cli/job_flags.h"
#include "render/json.h"
#include "render/table.h"

namespace vramplan {
namespace {

class EstimateCommand final : public Command {
 public:
  std::string name() const override { return "estimate"; }
  std::string summary() const override { return "peak memory of a training step, and whether it fits a card"; }
  std::string examples() const override {
    return "  vramplan estimate --model llama-3.1-8b --gpu a100-80gb --micro-batch 1 --seq 8192 --segments 32\n"
           "  vramplan estimate --config config.json --gpu \"RTX 3090\" --micro-batch 4 --seq 2048 --json\n"
           "  vramplan estimate --layers 100 --hidden 1024 --heads 16 --micro-batch 8 --seq 512 --segments 10\n";
  }
  std::vector<Flag> flags() override { return job_.flags(); }
  Exit run(const Context& context) override {
    const Estimate e = estimate(job_.job(context));
    fmt::print("{}", context.json ? estimate_json(e) : estimate_table(e, {context.colour, context.utf8}));
    return e.verdict == Verdict::does_not_fit ? Exit::does_not_fit : Exit::fits;
  }

 private:
  JobFlags job_;
};

}  // namespace

std::unique_ptr<Command> estimate_command() { return std::make_unique<EstimateCommand>(); }

}  // namespace vramplan
