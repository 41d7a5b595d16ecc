// How long advice for a job that does not fit takes, beside its estimate. Prints milliseconds and the ratio; asserts
// nothing.
#include <fmt/format.h>

#include <chrono>

#include "cli/job_reader.h"
#include "read/data.h"
#include "vramplan/estimate/estimate.h"

namespace {

template <class Work>
double milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void run(const char* model, const char* gpu) {
  const vramplan::Context context;
  vramplan::JobReader reader(context);
  vramplan::JobFlags flags;
  flags.set("--model", model);
  flags.set("--gpu", gpu);
  flags.set("--seq", "4096");
  const vramplan::Job job = reader.read(flags);
  const std::vector<vramplan::Card> cards = vramplan::all_cards(vramplan::Data(context.data_dir).gpus());
  vramplan::Estimate e;
  const double plain = milliseconds([&] { e = vramplan::estimate(job); });
  const double advice = milliseconds([&] { e.advice = vramplan::advise(e, cards); });
  fmt::print("advice: {:<14} {:7.1f} ms, {:5.1f} times its estimate of {:.1f} ms\n", model, advice, advice / plain,
             plain);
}

}  // namespace

int main() {
  run("llama-3.1-8b", "rtx-4090");
  run("llama-3.1-70b", "h200-sxm");
  run("llama-3.1-405b", "h200-sxm");
}
