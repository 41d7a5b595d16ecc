#include <fmt/format.h>

#include <cstdlib>

#include "allocator/caching.h"
#include "base/suggest.h"
#include "base/text.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw UserError(what, "allocator options", hint, Exit::usage);
}

std::uint64_t number(const std::string& key, const std::string& value) {
  if (value.empty() || value.size() > 9 || value.find_first_not_of("0123456789") != std::string::npos)
    refuse(fmt::format("{} wants a whole number, not '{}'", key, value), "for example max_split_size_mb:64");
  return std::stoull(value);
}

double share(const std::string& key, const std::string& value) {
  char* end = nullptr;
  const double f = std::strtod(value.c_str(), &end);
  if (value.empty() || *end || !(f > 0) || !(f < 1))
    refuse(fmt::format("{} lies between 0 and 1, not '{}'", key, value),
           "for example garbage_collection_threshold:0.8");
  return f;
}

void set(AllocatorOptions& o, const std::string& key, const std::string& value) {
  if (key == "expandable_segments") {
    if (value != "True" && value != "False")
      refuse(fmt::format("{} is True or False, not '{}'", key, value), "expandable_segments:True");
    o.expandable = value == "True";
  } else if (key == "max_split_size_mb") {
    if (number(key, value) <= 20) refuse("max_split_size_mb must be above 20", "as PyTorch demands");
    o.max_split = number(key, value) * kMiB;
  } else if (key == "max_non_split_rounding_mb") {
    o.max_non_split_rounding = number(key, value) * kMiB;
  } else if (key == "roundup_power2_divisions") {
    o.power2_divisions = number(key, value);
  } else if (key == "garbage_collection_threshold") {
    o.garbage_threshold = share(key, value);
  } else if (key != "backend" && key != "pinned_use_cuda_host_register") {
    // The two above change nothing of what is counted here.
    refuse(fmt::format("the option '{}' is not known", key),
           did_you_mean(
               key,
               {"expandable_segments", "max_split_size_mb", "max_non_split_rounding_mb", "roundup_power2_divisions",
                "garbage_collection_threshold"},
               "known: expandable_segments, max_split_size_mb, max_non_split_rounding_mb, roundup_power2_divisions, "
               "garbage_collection_threshold"));
  }
}

}  // namespace

AllocatorOptions parse_alloc_conf(std::string_view text) {
  AllocatorOptions o;
  while (!text.empty()) {
    const std::string item = take_item(text, ',');
    const std::size_t colon = item.find(':');
    if (colon == std::string::npos)
      refuse(fmt::format("'{}' is not option:value", item), "for example expandable_segments:True");
    set(o, item.substr(0, colon), item.substr(colon + 1));
  }
  return o;
}

}  // namespace vramplan
