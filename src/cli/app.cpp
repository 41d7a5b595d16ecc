// The command line: the only file that knows the option parser.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>

#include "base/suggest.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/file_flags.h"
#include "cli/help.h"
#include "cli/output.h"
#include "render/json.h"

namespace vramplan {
namespace {

void add_flag(CLI::App& app, const Flag& f) {
  if (auto* const* text = std::get_if<std::string*>(&f.target)) {
    CLI::Option* option = app.add_option(f.names, **text, f.help);
    if (f.value.starts_with('[')) option->expected(0, 1);
  } else if (auto* const* list = std::get_if<std::vector<std::string>*>(&f.target)) {
    app.add_option(f.names, **list, f.help);
  } else {
    app.add_flag(f.names, *std::get<bool*>(f.target), f.help);
  }
}

UserError unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const auto& c : all_commands())
    if (!c->hidden()) names.push_back(c->name());
  return {fmt::format("'{}' is not a command", word), "vramplan",
          did_you_mean(word, names, fmt::format("commands: {}", fmt::join(names, ", "))), Exit::usage};
}

/// An unknown flag or subcommand, reported with a suggestion before the parser complains about what is missing.
void check_words(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return;
  const CLI::App* chosen = nullptr;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (sub->get_name() == argv[1]) chosen = sub;
  if (!chosen) {
    if (argv[1][0] != '-') throw unknown_command(argv[1]);
    return;
  }
  const bool separated = std::any_of(argv, argv + argc, [](const char* a) { return std::strcmp(a, "--") == 0; });
  const bool lacks_separator = !separated && chosen->get_option_no_throw("command");
  std::vector<std::string> flags;
  for (const CLI::Option* o : chosen->get_options()) {
    for (const std::string& l : o->get_lnames()) flags.push_back("--" + l);
    for (const std::string& s : o->get_snames()) flags.push_back("-" + s);
  }
  for (int i = 2; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    const std::string word(argv[i], std::strcspn(argv[i], "="));
    if (word.size() < 2 || word[0] != '-' || std::isdigit(static_cast<unsigned char>(word[1]))) continue;
    if (word[1] != '-' && word.size() > 2) continue;  // -b4
    if (std::find(flags.begin(), flags.end(), word) == flags.end())
      throw UserError(fmt::format("'{}' is not a flag of {}", word, argv[1]), word,
                      lacks_separator ? "the program to run, with its flags, comes after --"
                                      : did_you_mean(word, flags, fmt::format("see 'vramplan {} --help'", argv[1])),
                      Exit::usage);
  }
}

/// Errors as documents too; but not where --json names a file, as standard output is then the program's that is run.
bool wants_json(int argc, char** argv) {
  const auto commands = all_commands();
  const bool names_file = std::any_of(commands.begin(), commands.end(), [&](const std::unique_ptr<Command>& c) {
    return argc > 1 && c->name() == argv[1] && c->writes_json_itself();
  });
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i)
    if (std::strcmp(argv[i], "--json") == 0) return !(names_file && i + 1 < argc && argv[i + 1][0] != '-');
  return false;
}

bool use_colour(const std::string& when) {
  if (when != "auto") return when == "always";
  const char* no = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && !(no && *no) && !(term && std::strcmp(term, "dumb") == 0);
}

bool use_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* v = std::getenv(name);
    if (v && *v) return std::strstr(v, "UTF-8") || std::strstr(v, "utf8");
  }
  return false;
}

/// Of the terminal; 80 when there is none.
std::size_t width() {
  constexpr std::size_t kPiped = 80, kNarrowest = 60, kWidest = 120;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kPiped;
  return std::clamp<std::size_t>(size.ws_col, kNarrowest, kWidest);
}

std::string version_line() { return fmt::format("vramplan {}\n", version_text()); }

/// Words that a shell would read otherwise are quoted.
std::string typed(int argc, char** argv) {
  std::string out = "vramplan";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) || std::strchr("-_=.,/:+@%", c);
    });
    out += ' ';
    if (plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

std::vector<std::string> typed_flags(const CLI::App& command) {
  std::vector<std::string> out;
  for (const CLI::Option* o : command.get_options())
    if (o->count() && !o->get_lnames().empty()) out.push_back("--" + o->get_lnames().back());
  return out;
}

int report(const UserError& e, bool json) {
  if (json) {
    print(error_json(e));
    finish_output();
  } else {
    tell(fmt::format("vramplan: {}{}\n", e.where.empty() ? "" : e.where + ": ", e.what()));
    if (!e.hint.empty()) tell(fmt::format("  {}\n", e.hint));
  }
  return static_cast<int>(e.status);
}

/// --help, --help-all, help COMMAND and --version, wherever they stand before --. Nothing when none is asked for.
std::optional<std::string> asked_for_help(const std::vector<std::string>& words) {
  const auto asks = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& w) { return std::find(names.begin(), names.end(), w) != names.end(); });
  };
  const bool first_is_help = !words.empty() && words[0] == "help";
  if (words.empty() || words[0] == "--version") return words.empty() ? program_help(width()) : version_line();
  const bool all = asks({"--help-all"});
  if (!first_is_help && !all && !asks({"-h", "--help"})) return std::nullopt;
  const std::size_t named = first_is_help ? 1 : 0;
  if (named >= words.size() || words[named].starts_with('-')) return program_help(width());
  for (const auto& c : all_commands())
    if (c->name() == words[named]) return command_help(*c, all, width());
  if (first_is_help) throw unknown_command(words[named]);
  return std::nullopt;  // reported with what is wrong
}

/// Turns standard output off.
void silence() {
  if (!std::freopen("/dev/null", "w", stdout)) throw std::runtime_error("cannot open /dev/null");
}

int dispatch(int argc, char** argv) {
  char** const separator =
      std::find_if(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--") == 0; });
  const std::vector<std::string> rest(std::min(separator + 1, argv + argc), argv + argc);
  if (const auto text = asked_for_help({argv + 1, std::max(separator, argv + 1)})) {
    print(*text);
    finish_output();
    return 0;
  }
  CLI::App app("", "vramplan");
  GlobalValues global;
  app.set_help_flag();
  app.require_subcommand(0, 1);
  auto commands = all_commands();
  for (auto& c : commands) {
    CLI::App* sub = app.add_subcommand(c->name());
    const std::vector<Flag> flags = flags_of(*c, global);
    for (const Flag& f : flags) add_flag(*sub, f);
    if (argc > 1 && c->name() == argv[1]) check_values({argv + 2, std::max(separator, argv + 2)}, flags);
  }
  try {
    check_words(app, argc, argv);
    app.parse(static_cast<int>(separator - argv), argv);
  } catch (const CLI::ParseError& e) {
    throw UserError(e.what(), "", "see 'vramplan --help'", Exit::usage);
  }
  if (global.colour != "auto" && global.colour != "always" && global.colour != "never")
    throw UserError(fmt::format("'{}' is not a colour setting", global.colour), "--color", "known: auto, always, never",
                    Exit::usage);
  const CLI::App& chosen = *app.get_subcommands()[0];
  for (auto& c : commands) {
    if (c->name() != chosen.get_name()) continue;
    if (!rest.empty() && !c->takes_rest())
      throw UserError(fmt::format("{} has no use for what stands behind --", c->name()), rest[0],
                      fmt::format("see 'vramplan {} --help'", c->name()), Exit::usage);
    check_outputs(flags_of(*c, global));
    if (global.quiet) silence();
    const Exit status = c->run({global.data_dir, global.json, use_colour(global.colour), use_utf8(), global.quiet,
                                typed(argc, argv), typed_flags(chosen), rest});
    finish_output();
    return static_cast<int>(status);
  }
  return static_cast<int>(Exit::internal);
}

}  // namespace

namespace {

/// Every error is reported, as a document where one is wanted.
int answered(int argc, char** argv) {
  const bool json = wants_json(argc, argv);
  try {
    return dispatch(argc, argv);
  } catch (const OutputError&) {
    throw;
  } catch (const UserError& e) {
    return report(e, json);
  } catch (const Overflow& e) {
    return report(UserError(e.what(), "", "these sizes are beyond any hardware: check the numbers"), json);
  } catch (const std::system_error& e) {
    return report(UserError(fmt::format("the system refused: {}", e.what()), "", "check its limits and permissions"),
                  json);
  } catch (const std::bad_alloc&) {
    return report(UserError("the memory of this machine is not enough", "", "ask for fewer layers or rows"), json);
  } catch (const std::exception& e) {
    return report(UserError(fmt::format("internal error: {}", e.what()), "", "please report this with the command line",
                            Exit::internal),
                  json);
  }
}

}  // namespace

int run_app(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // `| head` is no error
  reserve_standard_streams();
  try {
    return answered(argc, argv);
  } catch (const OutputError& e) {
    return report(e, false);
  }
}

}  // namespace vramplan
