#include "cli/job_flags.h"

namespace vramplan {

std::vector<Flag> JobFlags::flags() {
  std::vector<Flag> all = model_.flags();
  for (const std::vector<Flag>& more : {run_.flags(), card_.flags()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

Job JobFlags::job(const Context& context) const {
  Job j;
  model_.read(context, j);
  run_.read(j);
  model_.settle_positions(j);
  card_.read(context, j);
  return j;
}

}  // namespace vramplan
