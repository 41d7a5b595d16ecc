// Activation checkpointing: run a segment without keeping its inner activations, keep its input, and run it again
// in backward. Both variants of torch/utils/checkpoint.py:
//
//   non-reentrant  the segment is recorded, but every tensor it would keep is replaced by a ticket. The first ticket
//                  presented in backward reruns the segment, which fills all tickets and stops at the last tensor
//                  needed (early stop). What is filled is dropped as soon as it is consumed.
//   reentrant      the segment runs without recording. Backward reruns it on detached inputs, recording, and runs a
//                  nested backward; the segment's output, inputs and gradients live until that ends. What the
//                  segment captures (cos, sin, masks) lives as long as the loss does.
//
// Random draws are the same on recompute.
#pragma once
#include "tape/tape.h"

namespace vramplan {

///   offloaded      as reentrant, but the segment's input waits in the host's memory and comes back as a new tensor
///                  (the checkpointer of unsloth)
enum class Recompute { non_reentrant, reentrant, offloaded };

/// Offloaded segments take no states: their gradient would be lost.
Tensor checkpoint(Tape& t, Recompute variant, const Segment& segment, const Tensor& x, const Arguments& given = {});

}  // namespace vramplan
