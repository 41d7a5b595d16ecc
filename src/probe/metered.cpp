#include "probe/metered.h"

#include <fmt/format.h>

namespace vramplan {

std::string PhaseMeter::newest() const {
  if (!ledger_) return std::string(name_of(Phase::init));
  const Record& r = ledger_->record(ledger_->events().back().record);
  return fmt::format("{}: {}{}, {} {} of {}", name_of(phase()),
                     r.place.layer >= 0 ? fmt::format("layer {} ", r.place.layer) : "", r.place.module, r.op,
                     to_string(r.shape), name_of(r.dtype));
}

}  // namespace vramplan
