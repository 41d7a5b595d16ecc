// vramplan validate: golden files in, error per group out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/job_flags.h"
#include "cli/output.h"
#include "read/allocator_trace.h"
#include "read/data.h"
#include "read/job_file.h"
#include "read/measured.h"
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
            {"--worst", "N", "show the N worst cases and the tensors that differ", &worst_}};
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
    std::vector<const std::string*> file_of;
    for (const std::string& f : files_)
      for (ValidatedGroup& g : validate_file(f, job_of)) groups.push_back(std::move(g)), file_of.push_back(&f);
    print(context.json ? validate_json(groups) : validate_table(groups));
    if (!context.json && worst > 0) show_worst(groups, file_of, static_cast<std::size_t>(worst));
    const bool good = std::all_of(groups.begin(), groups.end(), within_bounds);
    return good ? Exit::fits : Exit::check_failed;
  }

 private:
  void show_worst(const std::vector<ValidatedGroup>& groups, const std::vector<const std::string*>& file_of,
                  std::size_t n) const {
    struct Found {
      const ValidatedCase* c;
      const std::string* file;
    };
    std::vector<Found> found;
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const ValidatedCase& c : groups[g].rows)
        if (c.not_expressed.empty() && !c.exact) found.push_back({&c, file_of[g]});
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& a, const Found& b) { return std::abs(a.c->worst) > std::abs(b.c->worst); });
    found.resize(std::min(found.size(), n));
    if (found.empty()) print(fmt::format("\nEvery expressed case is exact to the byte.\n"));
    for (const Found& f : found) {
      print(fmt::format("\n{}: {:+.4f} % at {} (ours {} B, PyTorch {} B)\n", f.c->id, 100 * f.c->worst,
                        f.c->worst_where, f.c->found.count(), f.c->expected.count()));
      for (const std::string& line : read_lines(*f.file)) {
        if (line.find("\"" + f.c->id + "\"") == std::string::npos) continue;
        if (is_allocator_trace(line) || is_measurement(line) || is_watched(line)) break;
        for (const std::string& d : differing_tensors(read_golden(line, *f.file))) print(fmt::format("    {}\n", d));
        break;
      }
    }
  }

  std::vector<std::string> files_;
  std::string worst_;
};

}  // namespace

std::unique_ptr<Command> validate_command() { return std::make_unique<ValidateCommand>(); }

}  // namespace vramplan
