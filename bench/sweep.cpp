// Configurations a second and core: composed from short runs, and run whole. Prints ratios to the targets; asserts
// nothing.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>

#include "plan/micro_batches.h"
#include "read/data.h"
#include "read/model_config.h"
#include "vramplan/estimate/estimate.h"
#include "vramplan/hardware/card.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void print(const char* what, std::int64_t rows, double seconds, double target) {
  const double rate = static_cast<double>(rows) / seconds;
  fmt::print("{:<58} {:10.0f} a second and core", what, rate);
  if (target > 0) fmt::print("  {:6.2f} x the target of {:.0f}", rate / target, target);
  fmt::print("\n");
}

vramplan::Job llama() {
  const vramplan::Data data;
  vramplan::Job job;
  job.model = vramplan::read_model_config(data.model("llama-3.1-8b"), "llama-3.1-8b").config;
  job.run.seq = 8192;
  job.card = vramplan::find_card(data.gpus(), "h100-sxm");
  job.run.device = {job.card->compute_capability, job.card->multiprocessors};
  return job;
}

/// How many of these cards hold the tensors of a step.
std::int64_t holding(const std::vector<vramplan::Card>& cards, vramplan::Bytes tensors) {
  std::int64_t n = 0;
  for (const vramplan::Card& c : cards) n += c.usable >= tensors;
  return n;
}

}  // namespace

int main() {
  const vramplan::Data data;
  const auto cards = vramplan::all_cards(data.gpus());
  vramplan::Job job = llama();
  std::int64_t rows = 0, held = 0;

  auto start = Clock::now();
  for (int repeat = 0; repeat < 20; ++repeat) {
    vramplan::Composition c(job);
    for (std::int64_t n = 0; n <= job.model.layers; ++n) {
      held += holding(cards, c.peaks(job.model.layers, n).rounded);
      rows += static_cast<std::int64_t>(cards.size());
    }
  }
  print("composed: every N x 332 cards, Llama-3.1-8B", rows, seconds_since(start), 200000);

  rows = 0;
  start = Clock::now();
  for (std::int64_t b = 1; b <= 8; ++b)
    for (std::int64_t s = 1024; s <= 16384; s += 1024) {
      job.run.micro_batch = b, job.run.seq = s;
      vramplan::Composition c(job);
      for (std::int64_t n = 0; n <= job.model.layers; ++n) {
        held += holding(cards, c.peaks(job.model.layers, n).rounded);
        rows += static_cast<std::int64_t>(cards.size());
      }
    }
  print("composed: micro-batch x sequence x every N x 332 cards", rows, seconds_since(start), 20000);

  rows = 0;
  start = Clock::now();
  for (std::int64_t s = 1024; s <= 16384; s += 1024) {
    job.run.seq = s;
    vramplan::MicroBatches batches(job, 1, 64);
    for (std::int64_t b = 1; b <= 64; ++b, ++rows) held += holding(cards, batches.peak(job.model.layers, 0, b));
  }
  print("composed: micro-batch 1 to 64 x sequence", rows, seconds_since(start), 20000);

  rows = 0;
  start = Clock::now();
  for (std::int64_t n = 1; n <= job.model.layers; ++n, ++rows) {
    job.run.micro_batch = 1, job.run.seq = 8192;
    job.run.checkpoint = {vramplan::CheckpointKind::segments, n, false};
    held += vramplan::assess(job).verdict == vramplan::Verdict::fits;
  }
  print("whole steps with the allocator: every N", rows, seconds_since(start), 0);
  return held < 0;
}
