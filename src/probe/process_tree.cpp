#include "probe/process_tree.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace vramplan {
namespace {

/// The fourth word of /proc/PID/stat; the second is a name in parentheses that may hold anything.
std::int64_t parent_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > line.size()) return 0;
  return std::strtoll(line.c_str() + name_end + 4, nullptr, 10);  // ") S 123"
}

}  // namespace

Subreaper::Subreaper() {
  prctl(PR_GET_CHILD_SUBREAPER, &before_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Subreaper::~Subreaper() { prctl(PR_SET_CHILD_SUBREAPER, before_); }

std::set<std::int64_t> descendants() {
  std::multimap<std::int64_t, std::int64_t> children;
  if (DIR* proc = opendir("/proc")) {
    while (const dirent* entry = readdir(proc))
      if (const std::int64_t pid = std::strtoll(entry->d_name, nullptr, 10); pid > 0)
        children.emplace(parent_of(pid), pid);
    closedir(proc);
  }
  std::set<std::int64_t> found;
  std::vector<std::int64_t> open{getpid()};
  while (!open.empty()) {
    const auto [from, to] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = from; child != to; ++child)
      if (found.insert(child->second).second) open.push_back(child->second);
  }
  return found;
}

}  // namespace vramplan
