# What an installation consists of: the program, the virtual GPU that `rehearse` preloads, the manual page and completions
# (both printed by the program itself), the licence. `cpack -G DEB` makes a Debian package of it.
include(GNUInstallDirs)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(manual ${generated}/vramplan.1.gz)
add_custom_command(
  OUTPUT ${manual} ${generated}/bash ${generated}/zsh ${generated}/fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND sh -c "$<TARGET_FILE:vramplan> manual | gzip -9n > ${manual} && for s in bash zsh fish; do $<TARGET_FILE:vramplan> completions $s > ${generated}/$s || exit 1; done"
  DEPENDS vramplan VERBATIM)
add_custom_target(generated ALL DEPENDS ${manual})

install(TARGETS vramplan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${virtualgpu_folder}/ DESTINATION lib/vramplan)  # where the program looks, whatever the architecture
install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/bash RENAME vramplan DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${generated}/zsh RENAME _vramplan DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${generated}/fish RENAME vramplan.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME vramplan)
set(CPACK_PACKAGE_VERSION ${VRAMPLAN_VERSION_NUMBER})
set(CPACK_PACKAGE_CONTACT "the vramplan developers <vramplan@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "plans GPU memory for training: predicts the peak of a step without a GPU")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_STRIP_FILES ON)
include(CPack)
