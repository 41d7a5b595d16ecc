#include "base/version.h"

namespace vramplan {

const char* version_text() { return VRAMPLAN_VERSION; }

}  // namespace vramplan
