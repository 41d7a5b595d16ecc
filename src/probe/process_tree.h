// The processes that a command starts, also those that leave its session or whose parent ends: they come back to us.
#pragma once
#include <cstdint>
#include <set>

namespace vramplan {

/// While it lives, processes whose parent ends become ours (PR_SET_CHILD_SUBREAPER).
class Subreaper {
 public:
  Subreaper();
  ~Subreaper();
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

 private:
  int before_ = 0;
};

/// All descendants of this process that live now, by /proc.
std::set<std::int64_t> descendants();

}  // namespace vramplan
