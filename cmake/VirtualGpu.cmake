# The library that `vramplan rehearse` preloads under a user's program, in a folder with the names under which the driver
# and the management library are looked up. It brings its own C++ library: the program's may be older. Never sanitized: it
# runs in a process that is not.
file(GLOB virtualgpu_sources CONFIGURE_DEPENDS src/virtualgpu/*.cpp)
set(virtualgpu_folder ${CMAKE_CURRENT_BINARY_DIR}/virtualgpu)
add_library(virtualgpu SHARED ${virtualgpu_sources})
target_include_directories(virtualgpu PRIVATE src data)
target_link_libraries(virtualgpu PRIVATE vramplan_warnings ${CMAKE_DL_LIBS})
target_link_options(virtualgpu PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
set_target_properties(virtualgpu PROPERTIES OUTPUT_NAME vramplan-virtualgpu LIBRARY_OUTPUT_DIRECTORY ${virtualgpu_folder}
                      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
foreach(alias libcuda.so.1 libcuda.so libnvidia-ml.so.1)
  add_custom_command(TARGET virtualgpu POST_BUILD
                     COMMAND ${CMAKE_COMMAND} -E create_symlink libvramplan-virtualgpu.so ${virtualgpu_folder}/${alias})
endforeach()
