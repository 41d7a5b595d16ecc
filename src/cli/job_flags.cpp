#include "cli/job_flags.h"

#include <fmt/format.h>

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

Job JobFlags::job(const Context& context) const {
  Job j;
  model_.read(context, j);
  run_.read(j);
  model_.settle_positions(j);
  card_.read(context, j);
  return j;
}

}  // namespace vramplan
