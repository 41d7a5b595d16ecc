// From flags to jobs, many times over: a model and a card that were read before are not read again.
#pragma once
#include <map>
#include <mutex>
#include <string>

#include "cli/job_flags.h"

namespace vramplan {

class JobReader {
 public:
  explicit JobReader(const Context& context);
  /// As `flags.job`. For several threads at once. Throws UserError.
  Job read(JobFlags flags);

 private:
  using Known = std::map<std::string, Job>;
  /// What `known` has under the key, else what `make` makes.
  template <class Make>
  Job take(Known& known, const std::string& key, const Make& make);

  const Context& context_;
  Ambient ambient_;
  std::mutex mutex_;
  Known models_, cards_;
};

}  // namespace vramplan
