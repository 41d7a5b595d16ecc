#include "cli/job_reader.h"

namespace vramplan {
namespace {

constexpr std::size_t kMostKept = 512;

}  // namespace

JobReader::JobReader(const Context& context) : context_(context), ambient_(ambient_of_jobs()) {}

template <class Make>
Job JobReader::take(Known& known, const std::string& key, const Make& make) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  Job made = make();
  const std::lock_guard lock(mutex_);
  if (known.size() >= kMostKept) known.clear();
  return known.emplace(key, std::move(made)).first->second;
}

Job JobReader::read(JobFlags flags) {
  flags.complete(ambient_);
  const Job model = take(models_, flags.model_key(), [&] { return flags.model(context_); });
  const Job card = take(cards_, flags.card_key(), [&] { return flags.card(context_); });
  return flags.job(model, card);
}

}  // namespace vramplan
