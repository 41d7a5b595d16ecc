// vramplan validate: golden files in, error per group out.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/job_flags.h"
#include "cli/output.h"
#include "read/job_file.h"
#include "render/json.h"
#include "render/table.h"
#include "validate/watched.h"
#include "vramplan/base/bytes.h"

namespace vramplan {
namespace {

class ValidateCommand final : public Command {
 public:
  std::string name() const override { return "validate"; }
  std::string summary() const override { return "compare dry runs with what PyTorch did, case by case"; }
  std::string examples() const override {
    return "  vramplan validate tests/golden/llama.jsonl tests/golden/gpt2.jsonl\n"
           "  vramplan validate tests/golden/*.jsonl --worst 20\n";
  }
  std::vector<Flag> flags() override {
    return {{"files", "FILE...", "golden files, one case a line", &files_},
            {"--worst", "N", "also the N worst cases, and the tensors that differ", &worst_}};
  }
  Exit run(const Context& context) override {
    if (files_.empty())
      throw UserError("no file was named", "validate", "vramplan validate tests/golden/*.jsonl", Exit::usage);
    const std::int64_t worst = worst_.empty() ? 0 : parse_count(worst_, "--worst");
    const auto job_of = [&](const std::string& line, const std::string& where) {
      JobFlags flags;
      for (const GivenFlag& f : read_job_file(line, where).flags) flags.set(f.flag, f.value);
      flags.complete(Ambient{});
      return flags.job(context);
    };
    std::vector<ValidatedGroup> groups;
    std::vector<std::string> file_of;
    for (const std::string& f : files_)
      for (ValidatedGroup& g : validate_file(f, job_of)) groups.push_back(std::move(g)), file_of.push_back(f);
    std::optional<std::vector<WorstCase>> rows;
    if (worst > 0) rows = worst_cases(groups, file_of, static_cast<std::size_t>(worst));
    print(context.json ? validate_json(groups, rows) : validate_table(groups));
    if (!context.json && rows) print(worst_text(*rows));
    const bool checked =
        std::any_of(groups.begin(), groups.end(), [](const ValidatedGroup& g) { return g.expressed > 0; });
    if (!checked) {
      tell("vramplan: none of the cases can be expressed: nothing was checked\n");
      return Exit::bad_input;
    }
    const bool good = std::all_of(groups.begin(), groups.end(), within_bounds);
    return good ? Exit::fits : Exit::check_failed;
  }

 private:
  static std::string worst_text(const std::vector<WorstCase>& rows) {
    if (rows.empty()) return "\nEvery expressed case is exact to the byte.\n";
    std::string out;
    for (const auto& [group, c] : rows) {
      out += fmt::format("\n{}: {:+.4f} % at {} (ours {} B, PyTorch {} B)\n", c.id, 100 * c.worst, c.worst_where,
                         c.found.count(), c.expected.count());
      for (const std::string& d : c.differing) out += fmt::format("    {}\n", d);
    }
    return out;
  }

  std::vector<std::string> files_;
  std::string worst_;
};

}  // namespace

std::unique_ptr<Command> validate_command() { return std::make_unique<ValidateCommand>(); }

}  // namespace vramplan
