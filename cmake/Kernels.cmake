# The kernels of src/backend/kernels, compiled in: as one text, which NVRTC compiles on the card's machine, and in a program
# that is made for other machines as a fat binary too. That takes nvcc a minute, and no answer without a card needs it.
set(kernel_sources "${CMAKE_CURRENT_SOURCE_DIR}/src/backend/kernels/kernels.cu")
set(kernel_cards 75 80 86 89 90 100 120)

# Appends `file` to `text`, each file that it includes put in front of it once.
function(flatten_into text file)
  get_property(seen GLOBAL PROPERTY kernel_files)
  if(file IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY kernel_files ${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} body)
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${body}")
  foreach(include ${includes})
    string(REGEX REPLACE "#include \"(.+)\"" "\\1" path "${include}")
    flatten_into(${text} ${CMAKE_CURRENT_SOURCE_DIR}/src/${path})
  endforeach()
  string(REGEX REPLACE "#include \"[^\"]+\"\n|#pragma once\n" "" body "${body}")
  set_property(GLOBAL APPEND_STRING PROPERTY ${text} "${body}")
endfunction()

set_property(GLOBAL PROPERTY kernel_text "")
flatten_into(kernel_text ${kernel_sources})
get_property(kernel_text GLOBAL PROPERTY kernel_text)
get_property(kernel_files GLOBAL PROPERTY kernel_files)
set(kernels_cu "${CMAKE_CURRENT_BINARY_DIR}/kernels.cu")
file(CONFIGURE OUTPUT ${kernels_cu} CONTENT "@kernel_text@" @ONLY)

find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
set(nvcc_major 0)
if(NVCC)
  execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+)" nvcc_version "${nvcc_version}")
  set(nvcc_major "0${CMAKE_MATCH_1}")
endif()
# Older ones do not know all of these cards; NVRTC of any version compiles for the one that is there.
if(nvcc_major GREATER_EQUAL 13 AND VRAMPLAN_PORTABLE)
  set(fatbin_default ON)
else()
  set(fatbin_default OFF)
endif()
option(VRAMPLAN_FATBIN "Compile the kernels of the probe with nvcc" ${fatbin_default})

set(kernels_image ${kernels_cu})
if(VRAMPLAN_FATBIN)
  set(kernels_image "${CMAKE_CURRENT_BINARY_DIR}/kernels.fatbin")
  foreach(card ${kernel_cards})
    list(APPEND targets -gencode arch=compute_${card},code=sm_${card})
  endforeach()
  list(GET kernel_cards -1 newest)  # what comes after it compiles this text of its assembly language
  add_custom_command(OUTPUT ${kernels_image} DEPENDS ${kernel_files} VERBATIM
    COMMENT "Compiling the kernels of the probe for ${kernel_cards}"
    COMMAND ${NVCC} -fatbin -std=c++17 -t 0 --compress-mode=size -Werror all-warnings -I ${CMAKE_CURRENT_SOURCE_DIR}/src
            ${targets} -gencode arch=compute_${newest},code=compute_${newest} ${kernel_sources} -o ${kernels_image})
else()
  message(STATUS "kernels of the probe: as text, for NVRTC")
endif()

# The assembler takes files as they are.
set(embedded "${CMAKE_CURRENT_BINARY_DIR}/embedded_kernels.cpp")
file(CONFIGURE OUTPUT ${embedded} @ONLY CONTENT [=[
#include "backend/cuda_kernels.h"
asm(R"(
    .section .rodata
    .balign 16
    .global vramplan_kernels_image, vramplan_kernels_image_end, vramplan_kernels_text, vramplan_kernels_text_end
vramplan_kernels_image: .incbin "@kernels_image@"
vramplan_kernels_image_end: .byte 0
vramplan_kernels_text: .incbin "@kernels_cu@"
vramplan_kernels_text_end: .byte 0
    .previous
)");
extern "C" const char vramplan_kernels_image[], vramplan_kernels_image_end[], vramplan_kernels_text[], vramplan_kernels_text_end[];
namespace vramplan {
EmbeddedKernels embedded_kernels() {
  return {{vramplan_kernels_image, vramplan_kernels_image_end}, std::string_view("@VRAMPLAN_FATBIN@") == "ON"};
}
std::string_view kernels_text() { return {vramplan_kernels_text, vramplan_kernels_text_end}; }
}
]=])
set_source_files_properties(${embedded} PROPERTIES OBJECT_DEPENDS "${kernels_image};${kernels_cu}")
target_sources(vramplan_core PRIVATE ${embedded})
