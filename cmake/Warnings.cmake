# One target carries the warnings; they are errors only where VRAMPLAN_WERROR is on (preset dev).
option(VRAMPLAN_WERROR "Treat warnings as errors" OFF)
add_library(vramplan_warnings INTERFACE)
target_compile_options(vramplan_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${VRAMPLAN_WERROR}>:-Werror>)
