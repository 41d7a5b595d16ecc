// The command line: the only file that knows the option parser.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/suggest.h"
#include "base/version.h"
#include "cli/command.h"
#include "render/json.h"

namespace vramplan {
namespace {

constexpr const char* kFooter =
    "Exit status: 0 fits or done, 1 does not fit, 2 usage, 3 bad input, 4 out of memory while measuring,\n"
    "5 a check failed, 70 internal error, 130 interrupted.\n"
    "NO_COLOR and --color never switch colour off; it is off when output is not a terminal.";

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> c;
  c.push_back(estimate_command());
  c.push_back(batch_command());
  c.push_back(plan_command());
  c.push_back(curve_command());
  c.push_back(compare_command());
  c.push_back(explain_command());
  c.push_back(timeline_command());
  c.push_back(probe_command());
  c.push_back(rehearse_command());
  c.push_back(validate_command());
  c.push_back(gpus_command());
  c.push_back(models_command());
  return c;
}

struct Global {
  std::string data_dir, colour = "auto";
  bool json = false;
};

void add_flag(CLI::App& app, const Flag& f) {
  CLI::Option* option = nullptr;
  if (auto* const* text = std::get_if<std::string*>(&f.target))
    option = app.add_option(f.names, **text, f.help);
  else if (auto* const* list = std::get_if<std::vector<std::string>*>(&f.target))
    option = app.add_option(f.names, **list, f.help);
  else
    option = app.add_flag(f.names, *std::get<bool*>(f.target), f.help);
  if (!f.value.empty()) option->option_text(f.value);
  option->group(f.group);
}

void add_global(CLI::App& app, Global& g, bool json) {
  if (json) app.add_flag("--json", g.json, "one JSON document on standard output, errors too")->group("Output");
  app.add_option("--color", g.colour, "auto, always, never")->option_text("WHEN")->group("Output");
  app.add_option("--data-dir", g.data_dir, "use this folder instead of the data compiled in")
      ->option_text("DIR")
      ->group("Output");
}

/// An unknown flag or subcommand, reported with a suggestion before the parser complains about what is missing.
void check_words(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return;
  std::vector<std::string> names;
  const CLI::App* chosen = nullptr;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
    if (sub->get_name() == argv[1]) chosen = sub;
  }
  if (!chosen) {
    if (argv[1][0] != '-')
      throw UserError(fmt::format("'{}' is not a command", argv[1]), "vramplan",
                      did_you_mean(argv[1], names, fmt::format("commands: {}", fmt::join(names, ", "))), Exit::usage);
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

bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i)
    if (std::strcmp(argv[i], "--json") == 0) return true;
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
    fmt::print("{}", error_json(e));
  } else {
    fmt::print(stderr, "vramplan: {}{}\n", e.where.empty() ? "" : e.where + ": ", e.what());
    if (!e.hint.empty()) fmt::print(stderr, "  {}\n", e.hint);
  }
  return static_cast<int>(e.status);
}

int dispatch(int argc, char** argv) {
  CLI::App app("Plans GPU memory for training: predicts the peak of a step, exactly, without a GPU.", "vramplan");
  Global global;
  std::string version = std::string("vramplan ") + version_text();
  app.set_version_flag("--version", version);
  app.require_subcommand(0, 1);
  app.footer(
      fmt::format("Examples:\n  vramplan estimate --model llama-3.1-8b --gpu a100-80gb --micro-batch 1 --seq 8192 "
                  "--segments 32\n  vramplan explain --model gpt2 --micro-batch 8 --seq 1024\n\n{}",
                  kFooter));
  auto commands = all_commands();
  char** const separator =
      std::find_if(argv, argv + argc, [](const char* word) { return std::strcmp(word, "--") == 0; });
  const std::vector<std::string> rest(std::min(separator + 1, argv + argc), argv + argc);
  for (auto& c : commands) {
    CLI::App* sub = app.add_subcommand(c->name(), c->summary());
    for (const Flag& f : c->flags()) add_flag(*sub, f);
    add_global(*sub, global, !c->writes_json_itself());
    sub->footer("Examples:\n" + c->examples() + "\n" + kFooter);
  }
  try {
    if (argc >= 2 && std::strcmp(argv[1], "help") == 0) {
      if (argc > 2) check_words(app, 2, argv + 1);
      fmt::print("{}", argc > 2 ? app.get_subcommand(argv[2])->help() : app.help());
      return 0;
    }
    check_words(app, argc, argv);
    app.parse(static_cast<int>(separator - argv), argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& e) {
    throw UserError(e.what(), "", "see 'vramplan --help'", Exit::usage);
  }
  if (app.get_subcommands().empty()) {
    fmt::print("{}", app.help());
    return 0;
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
    return static_cast<int>(c->run({global.data_dir, global.json, use_colour(global.colour), use_utf8(),
                                    typed(argc, argv), typed_flags(chosen), rest}));
  }
  return static_cast<int>(Exit::internal);
}

}  // namespace

int run_app(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // `| head` is no error
  const bool json = wants_json(argc, argv);
  try {
    return dispatch(argc, argv);
  } catch (const UserError& e) {
    return report(e, json);
  } catch (const Overflow& e) {
    return report(UserError(e.what(), "", "these sizes are beyond any hardware: check the numbers"), json);
  } catch (const std::exception& e) {
    return report(UserError(fmt::format("internal error: {}", e.what()), "", "please report this with the command line",
                            Exit::internal),
                  json);
  }
}

}  // namespace vramplan
