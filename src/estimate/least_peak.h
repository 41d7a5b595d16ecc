// A lower bound of a step's peak without running it: alike layers make the peak a maximum of straight lines in their
// number, so the line through two short steps never lies above it (tests/estimate/least_peak_test.cpp). For searches
// that want to know what cannot fit.
#pragma once
#include "vramplan/estimate/job.h"

namespace vramplan {

/// Bytes that tensors take at the peak at least, as requested (with runs of several
/// layers recomputed together: states alone); nothing where layers differ or are too few to tell.
/// Throws UserError for a job that cannot be run.
std::optional<Bytes> least_peak(const Job& job);

}  // namespace vramplan
