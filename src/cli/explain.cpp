// vramplan explain: the textbook formulas with the user's numbers.
#include <fmt/format.h>

#include "cli/job_flags.h"
#include "cli/output.h"
#include "render/json.h"
#include "render/table.h"

namespace vramplan {
namespace {

class ExplainCommand final : public Command {
 public:
  std::string name() const override { return "explain"; }
  std::string summary() const override {
    return "the textbook formulas with your numbers, next to what the program found";
  }
  std::string examples() const override {
    return "  vramplan explain --layers 100 --hidden 1024 --heads 16 --micro-batch 8 --seq 512 --segments 10\n";
  }
  std::vector<Flag> flags() override { return job_.flags(); }
  Exit run(const Context& context) override {
    job_.complete(context);
    const Explanation e = explain(job_.job(context));
    print(context.json ? explain_json(e) : explain_table(e));
    return Exit::fits;
  }

 private:
  JobFlags job_;
};

}  // namespace

std::unique_ptr<Command> explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace vramplan
