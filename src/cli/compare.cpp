// vramplan compare: what differs between two jobs, and which setting causes it.
#include "render/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/strict.h"

namespace vramplan {
namespace {

class CompareCommand final : public Command {
 public:
  std::string name() const override { return "compare"; }
  std::string summary() const override { return "two jobs side by side, and what each difference in settings costs"; }
  std::string examples() const override {
    return "  vramplan compare a.json b.json        # job files, or documents of estimate --json\n"
           "  vramplan compare --model gpt2 --gpu t4 --micro-batch 8 --seq 1024 -- --checkpoint per-layer "
           "--optimizer-form "
           "fused\n"
           "  vramplan compare a.json -- --optimizer=   # the first, and the same without a flag\n";
  }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    all.push_back(
        {"jobs", "A.json [B.json] | -- CHANGES", "two files, or one job and flags that change it", &files_, "Jobs"});
    all.push_back(strict_flag(strict_, "exit with 1 when a job does not fit, or is tight"));
    return all;
  }

  bool takes_rest() const override { return true; }

  Exit run(const Context& context) override {
    const bool changed = !context.rest.empty();
    if (files_.size() > 2 || (files_.size() == 2) == changed || (files_.empty() && !changed))
      throw UserError("two jobs are wanted", "compare",
                      "vramplan compare a.json b.json, or flags of the first, then --, then what the second changes",
                      Exit::usage);
    const JobFlags first = job_of(files_.empty() ? "" : files_[0], context);
    JobFlags second = changed ? first : job_of(files_[1], context);
    second.change(context.rest);
    const Comparison c = compare(first.job(context), second.job(context), changes_between(first, second, context));
    print(context.json ? compare_json(c) : compare_table(c));
    return status_of_many(
        strict_, status_of(c.first.verdict, true) == Exit::fits && status_of(c.second.verdict, true) == Exit::fits);
  }

 private:
  JobFlags job_of(const std::string& file, const Context& context) const {
    JobFlags flags = job_;
    if (!file.empty()) flags.set("--job", file);
    flags.complete(context);
    return flags;
  }

  static std::string value_in(const std::vector<GivenFlag>& list, const std::string& flag) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const GivenFlag& g) { return g.flag == flag; });
    return found == list.end() ? std::string() : found->value;
  }

  /// The one of the list that says what `flag` says in another way.
  static const GivenFlag* other_way(const std::vector<GivenFlag>& list, const std::string& flag) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const GivenFlag& g) { return contradict(g.flag, flag); });
    return found == list.end() ? nullptr : &*found;
  }

  static std::vector<Change> changes_between(const JobFlags& first, const JobFlags& second, const Context& context) {
    std::vector<Change> out;
    const std::vector<GivenFlag> before = first.given(), after = second.given();
    for (const Flag& f : JobFlags().flags()) {
      const std::string flag = long_name(f);
      Change c{flag, value_in(before, flag), value_in(after, flag), std::nullopt, {}};
      if (c.from == c.to || (c.to.empty() && other_way(after, flag))) continue;
      if (const GivenFlag* other = c.from.empty() ? other_way(before, flag) : nullptr)
        c.from = other->flag + " " + other->value;
      try {
        JobFlags alone = first;
        alone.replace(flag, c.to);
        c.alone = alone.job(context);
      } catch (const UserError& e) {
        c.why_not = e.what();
      }
      out.push_back(std::move(c));
    }
    return out;
  }

  JobFlags job_;
  std::vector<std::string> files_;
  bool strict_ = false;
};

}  // namespace

std::unique_ptr<Command> compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace vramplan
