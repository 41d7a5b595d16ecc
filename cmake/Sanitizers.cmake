# Address and undefined behaviour sanitizers (preset asan).
option(VRAMPLAN_SANITIZE "Build with address and undefined sanitizers" OFF)
add_library(vramplan_sanitizers INTERFACE)
if(VRAMPLAN_SANITIZE)
  target_compile_options(vramplan_sanitizers INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
  target_compile_definitions(vramplan_sanitizers INTERFACE VRAMPLAN_SANITIZED)  # also where the code itself is not
  target_link_options(vramplan_sanitizers INTERFACE -fsanitize=address,undefined)
endif()
