# The version comes from git ("v0.1.0-12-gabc" -> 0.1.0); a tree without git or tags gets the fallback.
set(VRAMPLAN_VERSION "0.1.0")
set(VRAMPLAN_VERSION_NUMBER "0.1.0")
find_package(Git QUIET)
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --tags --always --dirty
                  WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/.. OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND described MATCHES "^v?([0-9]+\\.[0-9]+\\.[0-9]+)")
    set(VRAMPLAN_VERSION_NUMBER "${CMAKE_MATCH_1}")
    set(VRAMPLAN_VERSION "${described}")
  elseif(NOT failed AND described)
    set(VRAMPLAN_VERSION "${VRAMPLAN_VERSION_NUMBER}+${described}")
  endif()
endif()
