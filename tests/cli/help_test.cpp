// Help, manual and completion: they fit, and they name what exists. scripts/check-docs runs the examples.
#include "cli/help.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "program.h"

using namespace vramplan;
using vramplan::test::has;
using vramplan::test::lines_of;
using vramplan::test::run;

namespace {

std::vector<std::string> words(const std::vector<Completion>& found) {
  std::vector<std::string> out;
  for (const Completion& c : found) out.push_back(c.word);
  return out;
}

}  // namespace

TEST_CASE("help fits a screen, names each everyday flag, and no line but an example is too wide") {
  for (const auto& c : all_commands()) {
    CAPTURE(c->name());
    const std::string brief = command_help(*c, false, 80), whole = command_help(*c, true, 80);
    CHECK(lines_of(brief).size() <= 80);
    GlobalValues values;
    for (const Flag& f : flags_of(*c, values)) {
      CAPTURE(f.names);
      if (!f.names.starts_with('-')) continue;
      CHECK(has(whole, long_name(f)));
      CHECK((f.rare || has(brief, long_name(f))));
      CHECK_FALSE(f.help.empty());
    }
    for (const std::string& line : lines_of(whole.substr(0, whole.find("\nExamples:"))))
      if (line.find(' ', line.find_first_not_of(' ')) != std::string::npos) CHECK(line.size() <= 80);
  }
}

TEST_CASE("an estimate's help is brief") {
  const auto commands = all_commands();
  CHECK(lines_of(command_help(*commands[0], false, 80)).size() <= 62);
}

TEST_CASE("every way of asking for help gives it on standard output") {
  for (const char* how : {"estimate --help", "estimate -h", "help estimate", "estimate --seq 5 --help"}) {
    CAPTURE(how);
    const auto r = run(how);
    CHECK(r.status == 0);
    CHECK(has(r.out, "Usage: vramplan estimate"));
    CHECK(r.err.empty());
  }
  CHECK(has(run("").out, "Commands:"));
  CHECK(has(run("--help").out, "Commands:"));
  CHECK(has(run("help").out, "rehearse"));
  CHECK(has(run("estimate --help-all").out, "--optimizer-in-backward"));
  CHECK(run("--version").out.starts_with("vramplan "));
}

TEST_CASE("completion: commands, flags, models, cards, words; nothing where a file or a number is wanted") {
  const Context context;
  CHECK(words(completions_of({"est"}, context)) == std::vector<std::string>{"estimate"});
  CHECK(words(completions_of({"estimate", "--mo"}, context)) == std::vector<std::string>{"--model", "--momentum"});
  CHECK(words(completions_of({"estimate", "--model", "gpt2-x"}, context)) == std::vector<std::string>{"gpt2-xl"});
  CHECK(words(completions_of({"plan", "--gpu", "h200-sxm-"}, context)) == std::vector<std::string>{"h200-sxm-141gb"});
  CHECK(words(completions_of({"estimate", "--precision", "amp-"}, context)) ==
        std::vector<std::string>{"amp-bf16", "amp-fp16"});
  CHECK(completions_of({"estimate", "--seq", ""}, context).empty());
  CHECK(completions_of({"estimate", "--config", ""}, context).empty());
  CHECK(completions_of({"nonsense", "--x"}, context).empty());
  CHECK(words(completions_of({}, context)).size() >= 12);
  CHECK(completion_lines({{"first:", "the first"}}, "zsh") == "first\\::the first\n");
  CHECK(run("completions tcsh").status == 2);
}

TEST_CASE("bash reads its script, and asks the program") {
  const std::string binary(VRAMPLAN_BINARY), folder = binary.substr(0, binary.rfind('/'));
  const std::string script =
      "PATH=" + folder +
      ":$PATH; source <(vramplan completions bash); "
      "COMP_WORDS=(vramplan estimate --model gpt2-x); COMP_CWORD=3; _vramplan; echo ${COMPREPLY[@]}";
  const std::string out = "/tmp/vramplan-completion-" + std::to_string(getpid());
  CHECK(std::system(("bash -c '" + script + "' > " + out).c_str()) == 0);
  CHECK(vramplan::test::slurp(out) == "gpt2-xl\n");
  std::remove(out.c_str());
}

TEST_CASE("the manual page has every command and no line that roff would read as a request by mistake") {
  const std::string page = manual_page();
  for (const auto& c : all_commands()) CHECK(has(page, ".SS " + c->name() + "\n") == !c->hidden());
  for (const std::string& line : lines_of(page))
    if (line.starts_with('.')) CHECK(line.find_first_of(".ABCDEFGHIJKLMNOPQRSTUVWXYZfin") == 0);
}
