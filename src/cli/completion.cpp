#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/known_values.h"

namespace vramplan {
namespace {

struct Shell {
  std::string_view name, script;
};
constexpr Shell kShells[]{{"bash", R"(# bash: source this, or put it in /usr/share/bash-completion/completions/vramplan
_vramplan() {
  local IFS=$'\n'
  COMPREPLY=($(vramplan complete bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _vramplan vramplan
)"},
                          {"zsh", R"(#compdef vramplan
# zsh: put this as _vramplan into a folder of $fpath, or source it after compinit
_vramplan() {
  local -a found
  found=("${(@f)$(vramplan complete zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then _describe vramplan found; else _files; fi
}
if [[ "${funcstack[1]}" == _vramplan ]]; then _vramplan "$@"; else compdef _vramplan vramplan; fi
)"},
                          {"fish", R"(# fish: put this into ~/.config/fish/completions/vramplan.fish
complete -c vramplan -a '(vramplan complete fish -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
)"}};

const Shell& shell_named(const std::string& name) {
  for (const Shell& s : kShells)
    if (s.name == name) return s;
  throw UserError(fmt::format("'{}' is not a shell that is known here", name), "completions", "known: bash, zsh, fish",
                  Exit::usage);
}

std::vector<Completion> beginning_with(std::vector<Completion> all, const std::string& start) {
  std::erase_if(all, [&](const Completion& c) { return !c.word.starts_with(start); });
  return all;
}

std::vector<Completion> values_of(const Flag& flag, const Context& context) {
  std::vector<Completion> out;
  for (const std::string& v : known_values(long_name(flag).substr(2), context)) out.push_back({v, ""});
  return out;
}

std::vector<Completion> flags_beginning(const std::vector<Flag>& flags, const std::string& start) {
  std::vector<Completion> out;
  for (const Flag& f : flags)
    if (f.names.starts_with('-')) out.push_back({long_name(f), f.help});
  return beginning_with(std::move(out), start);
}

}  // namespace

std::vector<Completion> completions_of(const std::vector<std::string>& words, const Context& context) {
  const auto commands = all_commands();
  const std::string last = words.empty() ? "" : words.back();
  if (words.size() < 2) {
    std::vector<Completion> out;
    for (const auto& c : commands)
      if (!c->hidden()) out.push_back({c->name(), c->summary()});
    return beginning_with(std::move(out), last);
  }
  if (std::find(words.begin(), words.end() - 1, "--") != words.end() - 1 && words[0] != "compare") return {};
  for (const auto& c : commands) {
    if (c->name() != words[0]) continue;
    GlobalValues values;
    const std::vector<Flag> flags = flags_of(*c, values);
    if (const Flag* f = find_flag(flags, words[words.size() - 2]); f && !f->value.empty())
      return beginning_with(values_of(*f, context), last);
    if (last.starts_with('-')) return flags_beginning(flags, last);
  }
  return {};
}

std::string completion_script(const std::string& shell) { return std::string(shell_named(shell).script); }

std::string completion_lines(const std::vector<Completion>& found, const std::string& shell) {
  const std::string_view name = shell_named(shell).name;
  std::string out;
  for (const Completion& c : found) {
    if (name == "fish") {
      out += c.word + "\t" + c.help;
    } else if (name == "zsh") {
      for (const char letter : c.word) out += letter == ':' ? std::string("\\:") : std::string(1, letter);
      if (!c.help.empty()) out += ":" + c.help;
    } else {
      out += c.word;
    }
    out += '\n';
  }
  return out;
}

}  // namespace vramplan
