#include "rehearse/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace vramplan {
namespace {

/// Words of a line for a shell are looked at one by one, too; its quotes are not understood.
std::vector<std::string> split_words(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::istringstream in(word);
    for (std::string part; in >> part;) out.push_back(part);
  }
  return out;
}

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// One of the letters in a word of short options, before one that takes the rest of the word (python -W error).
char letter_among(std::string_view word, std::string_view wanted, std::string_view taking) {
  if (word.size() < 2 || word[0] != '-' || word[1] == '-') return 0;
  for (const char c : word.substr(1)) {
    if (wanted.find(c) != std::string_view::npos) return c;
    if (taking.find(c) != std::string_view::npos) break;
  }
  return 0;
}

std::string of_python(const std::vector<std::string>& words, std::size_t at) {
  for (std::size_t i = at + 1; i < words.size() && words[i].starts_with('-') && words[i].size() > 1; ++i) {
    if (const char c = letter_among(words[i], "IES", "cmWX"))
      return fmt::format("{} -{} {}, so the hook that reads PyTorch's counters was not loaded: run it without -{}",
                         file_of(words[at]), c, c == 'S' ? "loads no site modules" : "ignores PYTHONPATH", c);
    if (words[i] == "-c" || words[i] == "-m") break;
    if (words[i] == "-W" || words[i] == "-X" || words[i] == "--check-hash-based-pycs") ++i;
  }
  return {};
}

std::string of_env(const std::vector<std::string>& words, std::size_t at) {
  for (std::size_t i = at + 1; i < words.size() && words[i].starts_with('-'); ++i)
    if (words[i] == "-" || words[i] == "--ignore-environment" || letter_among(words[i], "i", "uCS"))
      return fmt::format(
          "env {} clears the environment, through which a program is reached: run it "
          "without, or with 'env -u NAME' for what must go",
          words[i]);
    else if (words[i] == "-u" || words[i] == "-C")
      ++i;
  return {};
}

bool on_card(const RehearsedProcess& p) { return !p.devices.empty(); }
bool hooked(const RehearsedProcess& p) { return !p.torch.empty() && !p.missed; }

std::string name_of(const RehearsedProcess& p) { return fmt::format("process {} (rank {})", p.pid, p.rank); }

std::string of_status(int status) {
  if (status > 128 && status < 128 + 65) return fmt::format("the program was ended by signal {}", status - 128);
  return status != 0 ? fmt::format("the program failed with exit status {}", status) : "";
}

/// Flags of Python, or of env, that keep the hook out.
std::string of_flags(const Rehearsal& r) {
  for (const RehearsedProcess& p : r.processes)
    if (on_card(p) && p.torch.empty())
      if (std::string why = why_unhooked(p.command); !why.empty()) return why;
  return std::any_of(r.processes.begin(), r.processes.end(), hooked) ? "" : why_unhooked(r.command);
}

/// No process in which the hook saw PyTorch.
std::string of_hook(const Rehearsal& r) {
  for (const RehearsedProcess& p : r.processes)
    if (p.missed) return fmt::format("{} imported PyTorch past the hook, which did not see its counters", name_of(p));
  if (std::any_of(r.processes.begin(), r.processes.end(), hooked)) return {};
  if (!r.processes.empty()) return "the card was used by something other than PyTorch, and only its steps are judged";
  return "the program did not import PyTorch, and used no CUDA runtime that can be stood in for: is the command's "
         "python the one that has torch? (What clears LD_PRELOAD and PYTHONPATH, as sudo does, keeps the virtual GPU "
         "out.)";
}

std::string of_card(const Rehearsal& r) {
  const auto torch = std::find_if(r.processes.begin(), r.processes.end(), hooked);
  if (torch == r.processes.end() || std::any_of(r.processes.begin(), r.processes.end(), on_card)) return {};
  if (!torch->cuda_build)
    return "this PyTorch is not built for CUDA: install the CUDA build into the program's environment; it needs no GPU";
  return "the program left the card alone: does it choose device='cuda'?";
}

std::string of_steps(const Rehearsal& r) {
  std::int64_t steps = 0, worked = 0;
  for (const RehearsedProcess& p : r.processes)
    if (p.steps > steps || (p.steps == steps && p.steps_on_card > worked)) {
      steps = p.steps;
      worked = on_card(p) ? p.steps_on_card : 0;
    }
  if (steps == 0)
    return "no step of an optimizer of torch.optim was seen: what a training step takes is not known (what ran until "
           "the end is shown)";
  // A step before training, which schedulers ask for, does nothing.
  if (2 * worked <= steps)
    return fmt::format("{} of {} optimizer steps used the card: is the model on it (device='cuda')?", worked, steps);
  return {};
}

}  // namespace

std::string why_unhooked(const std::vector<std::string>& command) {
  const std::vector<std::string> words = split_words(command);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view file = file_of(words[i]);
    std::string why = file == "env" ? of_env(words, i) : file.starts_with("python") ? of_python(words, i) : "";
    if (!why.empty()) return why;
  }
  return {};
}

std::vector<std::string> missing_evidence(const Rehearsal& r, bool strict) {
  std::vector<std::string> out;
  auto note = [&](std::string sentence) {
    if (!sentence.empty()) out.push_back(std::move(sentence));
  };
  note(of_flags(r));
  const bool named = !out.empty();
  note(of_status(r.status));
  for (const RehearsedProcess& p : r.processes)
    if (!p.ended && on_card(p))
      note(name_of(p) + " did not come to its end (a signal?): its figures stop at its last step");
  if (!named) note(of_hook(r));
  note(of_card(r));
  if (std::any_of(r.processes.begin(), r.processes.end(), [](const auto& p) { return on_card(p) && hooked(p); }))
    note(of_steps(r));
  for (const RehearsedProcess& p : r.processes)
    if (strict && !p.unanswered.empty())
      note(fmt::format("{} called {}, which has no answer here (--strict)", name_of(p), p.unanswered.begin()->first));
  return out;
}

}  // namespace vramplan
