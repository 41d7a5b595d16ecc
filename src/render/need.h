// What a headline says of a job that does not fit: what it needs by itself, what the caching allocator adds in gaps,
// and whether expandable segments are the cure.
#pragma once
#include <string>

#include "vramplan/estimate/estimate.h"

namespace vramplan {

struct Need {
  Bytes itself;      ///< device used, less `gaps`
  Bytes gaps;        ///< reserved beyond what is allocated; 0 where it is not worth a word
  std::string cure;  ///< "fits with --allocator expandable (...)"; empty where that was not run or does not help
};

/// All of device used is `itself` where the job fits, no card is given, or the card is not a CUDA one, whose allocator
/// is not known.
Need need_of(const Estimate& e);
/// ", and 5.13 GiB more for the allocator's gaps, 84.13 GiB in all"; empty without gaps.
std::string gaps_words(const Estimate& e, const Need& need, ByteUnit unit);

}  // namespace vramplan
