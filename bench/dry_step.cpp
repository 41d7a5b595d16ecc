// How long one dry training step takes. Prints milliseconds and the ratio to the target; asserts nothing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "backend/dry.h"
#include "read/data.h"
#include "read/model_config.h"
#include "train/trainer.h"

namespace {

double median_step_ms(const vramplan::ModelConfig& config, std::size_t& events) {
  vramplan::TrainOptions options;
  options.seq = 8192;
  options.checkpoint = {vramplan::CheckpointKind::none, 0, false};
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    vramplan::DryBackend backend;
    vramplan::Trainer trainer(backend, config, options);
    trainer.step();
    const auto before_events = trainer.ledger().now();
    const auto start = std::chrono::steady_clock::now();
    trainer.step();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    events = trainer.ledger().now() - before_events;
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return times[10];
}

}  // namespace

int main() {
  const vramplan::Data data;
  struct Row {
    const char* model;
    double target_ms;
  };
  for (const Row& row : {Row{"llama-3.1-8b", 1.0}, Row{"llama-3.1-405b", 5.0}}) {
    std::size_t events = 0;
    const double ms = median_step_ms(vramplan::read_model_config(data.model(row.model), row.model).config, events);
    fmt::print("{:<16} one dry step {:7.3f} ms  ({} ledger events, {:.0f} ns each)  {:.2f} x the target of {} ms\n",
               row.model, ms, events, 1e6 * ms / static_cast<double>(events), ms / row.target_ms, row.target_ms);
  }
}
