// vramplan curve: memory against the number of segments.
#include <fmt/format.h>

#include "cli/job_flags.h"
#include "cli/output.h"
#include "render/curve.h"

namespace vramplan {
namespace {

class CurveCommand final : public Command {
 public:
  std::string name() const override { return "curve"; }
  std::string summary() const override { return "memory and recomputation against the number of segments"; }
  std::string examples() const override {
    return "  vramplan curve --layers 100 --hidden 1024 --heads 16 --micro-batch 8 --seq 512\n"
           "  vramplan curve --model llama-3.1-8b --gpu a100-80gb --seq 8192 --csv\n";
  }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    all.push_back({"--csv", "", "every N as a line of CSV", &csv_});
    return all;
  }
  Exit run(const Context& context) override {
    job_.complete(context);
    const Curve c = segments_curve(job_.job(context));
    print(csv_ ? curve_csv(c) : context.json ? curve_json(c) : curve_table(c, {context.colour, context.utf8}));
    return Exit::fits;
  }

 private:
  JobFlags job_;
  bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> curve_command() { return std::make_unique<CurveCommand>(); }

}  // namespace vramplan
