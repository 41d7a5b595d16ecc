# Compile the files of a data folder into a target, so that the program runs from anywhere. Each becomes a raw string;
# src/read/data.h finds them by their path below the folder.
function(embed_data target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/gpus.json ${folder}/models/*.json ${folder}/schemas/*.json ${folder}/hook/*.py
       ${folder}/probe/*.py ${folder}/rehearse/*.py
       ${folder}/report.*)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/embedded_data.cpp")
  set(body "#include \"base/embedded.h\"\nnamespace vramplan {\nnamespace {\nusing std::literals::operator\"\"sv;\nconstexpr EmbeddedFile kFiles[] = {\n")
  foreach(file ${files})
    file(READ ${folder}/${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${file})
    string(APPEND body "{\"${file}\", R\"__DATA__(${text})__DATA__\"sv},\n")
  endforeach()
  string(APPEND body "};\n}\nstd::span<const EmbeddedFile> embedded_files() { return kFiles; }\n}\n")
  file(CONFIGURE OUTPUT ${source} CONTENT "@body@" @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()
