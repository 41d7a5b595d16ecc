// vramplan completions: what a shell sources; complete: what it then asks; manual: the page of man.
#include <fmt/format.h>

#include "cli/completion.h"
#include "cli/help.h"
#include "cli/output.h"

namespace vramplan {
namespace {

class CompletionsCommand final : public Command {
 public:
  std::string name() const override { return "completions"; }
  std::string summary() const override { return "completion of commands, flags, models and cards for your shell"; }
  std::string examples() const override {
    return "  source <(vramplan completions bash)\n"
           "  vramplan completions fish > ~/.config/fish/completions/vramplan.fish\n";
  }
  std::vector<Flag> flags() override { return {{"shell", "bash|zsh|fish", "the shell", &words_}}; }
  Exit run(const Context&) override {
    if (words_.size() != 1)
      throw UserError("one shell is wanted", "completions", "known: bash, zsh, fish", Exit::usage);
    print(completion_script(words_[0]));
    return Exit::fits;
  }

 private:
  std::vector<std::string> words_;
};

class CompleteCommand final : public Command {
 public:
  std::string name() const override { return "complete"; }
  std::string summary() const override { return "what can stand at the end of a command line; for shells"; }
  std::string examples() const override { return "  vramplan complete bash -- estimate --mo\n"; }
  bool hidden() const override { return true; }
  bool takes_rest() const override { return true; }
  std::vector<Flag> flags() override { return {{"shell", "SHELL", "whose form the answer has", &words_}}; }
  Exit run(const Context& context) override {
    if (words_.size() != 1) throw UserError("one shell is wanted", "complete", "", Exit::usage);
    print(completion_lines(completions_of(context.rest, context), words_[0]));
    return Exit::fits;
  }

 private:
  std::vector<std::string> words_;
};

class ManualCommand final : public Command {
 public:
  std::string name() const override { return "manual"; }
  std::string summary() const override { return "the manual page, for man -l -"; }
  std::string examples() const override { return "  vramplan manual | man -l -\n"; }
  std::vector<Flag> flags() override { return {}; }
  Exit run(const Context&) override {
    print(manual_page());
    return Exit::fits;
  }
};

}  // namespace

std::unique_ptr<Command> completions_command() { return std::make_unique<CompletionsCommand>(); }
std::unique_ptr<Command> complete_command() { return std::make_unique<CompleteCommand>(); }
std::unique_ptr<Command> manual_command() { return std::make_unique<ManualCommand>(); }

}  // namespace vramplan
