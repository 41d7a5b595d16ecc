#include "cli/file_flags.h"

#include <fmt/format.h>

#include "base/whole_file.h"

namespace vramplan {
namespace {

bool names_file(const Flag& f) {
  return f.value.find("FILE") != std::string::npos || f.value.find(".json") != std::string::npos;
}

void check_name(const Flag& f, const std::string& name) {
  if (names_file(f) && name.starts_with("--"))
    throw UserError(fmt::format("'{}' looks like a flag, not a file", name), long_name(f),
                    fmt::format("write {}=./{} for a file of this name", long_name(f), name), Exit::usage);
}

struct Named {
  std::string flag, path;
  bool written;
};

/// Files by the flags that name them. Documents in a flag's place, and standard input and output, are no files.
std::vector<Named> files_of(const std::vector<Flag>& flags) {
  std::vector<Named> out;
  const auto add = [&](const Flag& f, const std::string& path) {
    if (!path.empty() && path != "-" && !path.starts_with('{') && !path.starts_with("/dev/"))
      out.push_back({long_name(f), path, f.writes});
  };
  for (const Flag& f : flags) {
    if (!names_file(f)) continue;
    if (auto* const* text = std::get_if<std::string*>(&f.target)) add(f, **text);
    if (auto* const* list = std::get_if<std::vector<std::string>*>(&f.target))
      for (const std::string& path : **list) add(f, path);
  }
  return out;
}

}  // namespace

void check_values(const std::vector<std::string>& words, const std::vector<Flag>& flags) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const Flag* f = find_flag(flags, words[i].substr(0, equals));
    if (!f || f->value.empty()) continue;
    if (equals != std::string::npos) {
      if (equals + 1 == words[i].size())
        throw UserError("nothing stands behind '='", long_name(*f), "give a value, or leave the flag out", Exit::usage);
      check_name(*f, words[i].substr(equals + 1));
    } else if (i + 1 < words.size() && !f->value.starts_with('[')) {
      check_name(*f, words[i + 1]);
    }
  }
}

void check_outputs(const std::vector<Flag>& flags) {
  const std::vector<Named> files = files_of(flags);
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = 0; j < files.size(); ++j)
      if (i != j && files[i].written && (!files[j].written || i < j) && same_file(files[i].path, files[j].path))
        throw UserError(fmt::format("this file is also that of {}", files[j].flag),
                        fmt::format("{} {}", files[i].flag, files[i].path), "name another file", Exit::usage);
}

}  // namespace vramplan
