# One target carries the warnings; they are errors only where VRAMPLAN_WERROR is on (preset dev).
option(VRAMPLAN_WERROR "Treat warnings as errors" OFF)
add_library(vramplan_warnings INTERFACE)
# Off: g++ 12 reports these inside its own std::string and std::sort when optimising (GCC bugs 105329, 105651, 107852).
target_compile_options(vramplan_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow $<$<BOOL:${VRAMPLAN_WERROR}>:-Werror>)
# Files in one unit: what is unnamed in one of them looks as if a header had it.
if(CMAKE_UNITY_BUILD)
  target_compile_options(vramplan_warnings INTERFACE -Wno-subobject-linkage)
endif()
