// Rows of a batch a second and core, from their cells to the row of answers, each a whole dry run with the allocator.
#include <fmt/format.h>

#include <chrono>

#include "cli/job_reader.h"
#include "render/flat.h"

namespace {

using Clock = std::chrono::steady_clock;

void run(const char* model, const char* seq, int rows) {
  const vramplan::Context context;
  vramplan::JobReader reader(context);
  std::size_t cells = 0;
  const auto start = Clock::now();
  for (int i = 0; i < rows; ++i) {
    vramplan::JobFlags flags;
    flags.set("--model", model);
    flags.set("--gpu", "h100-sxm");
    flags.set("--seq", seq);
    flags.set("--micro-batch", std::to_string(1 + i % 8));
    flags.set("--checkpoint", i % 2 ? "per-layer" : "none");
    cells += vramplan::flat_csv_row(vramplan::flat_values(vramplan::estimate(reader.read(flags)))).size();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  fmt::print("batch: {:<14} {:6.0f} rows a second and core, {:.0f} bytes a row\n", model, rows / seconds,
             static_cast<double>(cells) / rows);
}

}  // namespace

int main() {
  run("gpt2", "1024", 400);
  run("llama-3.1-8b", "4096", 100);
}
