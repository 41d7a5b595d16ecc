#pragma once

namespace vramplan {

/// The version of the build, from git: "0.1.0-12-gabc1234".
const char* version_text();

}  // namespace vramplan
