#include "cli/job_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"

namespace vramplan {

std::vector<Flag> JobFlags::flags() {
  std::vector<Flag> all = model_.flags();
  for (const std::vector<Flag>& more : {run_.flags(), card_.flags()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string& JobFlags::text_of(const std::string& flag) {
  std::vector<std::string> known;
  for (const Flag& f : flags()) {
    const std::string name = f.names.substr(f.names.find("--"));
    if (auto* const* text = std::get_if<std::string*>(&f.target)) {
      if (name == flag) return **text;
      known.push_back(name.substr(2));
    }
  }
  throw UserError(fmt::format("'{}' is not a flag with a value", flag), "--sweep",
                  did_you_mean(flag.substr(2), known, "see 'vramplan estimate --help'"), Exit::usage);
}

void JobFlags::set(const std::string& flag, const std::string& value) { text_of(flag) = value; }

bool JobFlags::given(const std::string& flag) { return !text_of(flag).empty(); }

namespace {

bool has(const std::vector<Flag>& flags, const std::string& name) {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const Flag& f) { return f.names.substr(f.names.find("--")) == name; });
}

}  // namespace

bool JobFlags::names_model(const std::string& flag) { return has(model_.flags(), flag); }
bool JobFlags::names_card(const std::string& flag) { return has(card_.flags(), flag); }

Job JobFlags::job(const Context& context) const { return job(context, {}); }

Job JobFlags::job(const Context& context, const Known& known) const {
  Job j;
  if (known.model)
    j.model = known.model->model;
  else
    model_.read(context, j);
  run_.read(j);
  model_.settle_positions(j);
  if (!known.card) {
    card_.read(context, j);
    return j;
  }
  j.card = known.card->card;
  j.run.device = known.card->run.device;
  j.calibration = known.card->calibration;
  j.allocator = known.card->allocator;
  j.reserve = known.card->reserve;
  j.memory_fraction = known.card->memory_fraction;
  return j;
}

}  // namespace vramplan
