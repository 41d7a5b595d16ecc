#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.h"
#include "cli/commands.h"

namespace vramplan {
namespace {

constexpr std::string_view kPurpose =
    "Plans GPU memory for training: predicts the peak of a step, exactly, without a GPU.";
constexpr std::string_view kProgramExamples =
    "  vramplan estimate --model llama-3.1-8b --gpu a100-80gb --micro-batch 1 --seq 8192 --segments 32\n"
    "  vramplan plan --model llama-3.1-8b --gpu a100-80gb --seq 8192\n"
    "  vramplan explain --model gpt2 --micro-batch 8 --seq 1024\n";

struct Status {
  int number;
  std::string_view meaning;
};
constexpr Status kStatuses[]{{0, "fits, or done"},
                             {1, "does not fit"},
                             {2, "usage"},
                             {3, "bad input, or a missing device"},
                             {4, "out of memory while measuring"},
                             {5, "a check failed"},
                             {70, "internal error"},
                             {130, "interrupted"}};

bool positional(const Flag& f) { return !f.names.starts_with('-'); }

std::string label(const Flag& f) {
  if (positional(f)) return f.value;
  std::string names = f.names;
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  return f.value.empty() ? names : names + " " + f.value;
}

/// Lines of at most `width`, all but the first indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (column > indent && column + 1 + space > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ', ++column;
    }
    out += text.substr(0, space);
    column += space;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out;
}

std::vector<std::string> groups_of(const std::vector<Flag>& flags) {
  std::vector<std::string> out;
  for (const Flag& f : flags)
    if (std::find(out.begin(), out.end(), f.group) == out.end()) out.push_back(f.group);
  return out;
}

std::string exit_line(std::size_t width) {
  std::string text = "Exit status:";
  for (const Status& s : kStatuses)
    text += fmt::format("{} {} {}", s.number == kStatuses[0].number ? "" : ",", s.number, s.meaning);
  return wrapped(text + ".", 0, width) + "\n";
}

std::string usage(const Command& command, const std::vector<Flag>& flags) {
  std::string line = "vramplan " + command.name() + " [flags]";
  for (const Flag& f : flags)
    if (positional(f)) line += " " + f.value;
  return line;
}

/// For roff: no line begins with a control character, no backslash is one.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + c;
    else
      out += c;
  return out;
}

std::string roff_flags(const std::vector<Flag>& flags) {
  std::string out;
  for (const std::string& group : groups_of(flags)) {
    out += ".PP\n" + roff(group) + ":\n";
    for (const Flag& f : flags)
      if (f.group == group) out += fmt::format(".TP\n.B {}\n{}\n", roff(label(f)), roff(f.help));
  }
  return out;
}

}  // namespace

std::string command_help(Command& command, bool all, std::size_t width) {
  constexpr std::size_t kWidest = 28;
  GlobalValues values;
  const std::vector<Flag> flags = flags_of(command, values);
  std::size_t column = 0, hidden = 0;
  const auto shown = [&](const Flag& f) { return all || !f.rare; };
  for (const Flag& f : flags)
    if (shown(f)) column = std::max(column, std::min(label(f).size(), kWidest));
  std::string out = fmt::format("{}\n\nUsage: {}\n", wrapped(command.summary(), 0, width), usage(command, flags));
  for (const std::string& group : groups_of(flags)) {
    std::string rows;
    for (const Flag& f : flags) {
      if (f.group != group) continue;
      if (!shown(f)) {
        ++hidden;
        continue;
      }
      const std::string name = label(f);
      rows += "  " + name;
      rows += name.size() > column ? "\n" + std::string(column + 4, ' ') : std::string(column - name.size() + 2, ' ');
      rows += wrapped(f.help, column + 4, width) + "\n";
    }
    if (!rows.empty()) out += fmt::format("\n{}:\n{}", group, rows);
  }
  if (hidden) out += fmt::format("\n{} more, and exit statuses: vramplan {} --help-all\n", hidden, command.name());
  return out + "\nExamples:\n" + command.examples() + (hidden ? "" : "\n" + exit_line(width));
}

std::string program_help(std::size_t width) {
  std::string out = wrapped(kPurpose, 0, width) + "\n\nUsage: vramplan COMMAND [flags]\n\nCommands:\n";
  constexpr std::size_t kColumn = 15;
  for (const auto& c : all_commands())
    if (!c->hidden()) out += fmt::format("  {:<13}{}\n", c->name(), wrapped(c->summary(), kColumn, width));
  out += fmt::format("\nvramplan COMMAND --help tells its flags; --version what this is.\n\nExamples:\n{}\n",
                     kProgramExamples);
  return out + exit_line(width);
}

std::string manual_page() {
  std::string out = fmt::format(
      ".TH VRAMPLAN 1 \"\" \"vramplan {}\" \"User Commands\"\n.SH NAME\nvramplan \\- plans GPU memory for training\n"
      ".SH SYNOPSIS\n.B vramplan\n.I COMMAND\n[flags]\n.SH DESCRIPTION\n{}\n.SH COMMANDS\n",
      roff(version_text()), roff(kPurpose));
  GlobalValues values;
  for (const auto& c : all_commands()) {
    if (c->hidden()) continue;
    const std::vector<Flag> flags = flags_of(*c, values);
    out += fmt::format(".SS {}\n{}.\n.PP\n.B {}\n", roff(c->name()), roff(c->summary()), roff(usage(*c, flags)));
    out += roff_flags(flags) + ".PP\nExamples:\n.nf\n" + roff(c->examples()) + ".fi\n";
  }
  out += ".SH EXIT STATUS\n";
  for (const Status& s : kStatuses) out += fmt::format(".TP\n.B {}\n{}\n", s.number, s.meaning);
  return out +
         ".SH ENVIRONMENT\n.TP\n.B VRAMPLAN_FLAG\nThe value of a flag of a job that neither the command line nor "
         "\\-\\-job "
         "gives: VRAMPLAN_GPU, VRAMPLAN_MICRO_BATCH.\n.TP\n.B NO_COLOR\nNo colour.\n"
         ".SH FILES\n.TP\n.I ~/.config/vramplan/defaults.json\nFlags and their values, below the environment's.\n";
}

}  // namespace vramplan
