# Documents, the components `bundle` and `viewer_bundle`, and packages by CPack (scripts/package makes them):
#   .deb     components program and viewer; what they need comes from Debian
#   .tar.gz  components program and bundle: runs from any folder of a machine that has the C library and the compiler's
#   viewer   these and viewer and viewer_bundle, with Qt: another .tar.gz
# The wheel (pyproject.toml) has the components of the first .tar.gz.
set(documents share/doc/underlap)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${documents})
install(FILES bench/METRICS.md DESTINATION ${documents}/bench)
install(DIRECTORY docs/ DESTINATION ${documents}/docs)

# Every machine has the C library and the compiler's.
set(left_out "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\\+\\+)[.]so")
# NCCL opens the machine's libibverbs, which fits its drivers; ours, which Gloo loads first, would be taken in its place.
set(set_apart "^$")
if(UNDERLAP_HAS_CUDA)
  set(set_apart "^lib(ibverbs|nl-3|nl-route-3)[.]so")
endif()
# Bundles run on older distributions; without Python, on those with a libstdc++ of GCC 12.
find_program(UNDERLAP_PYTHON python3)
set(older_libstdcxx)
if(UNDERLAP_PYTHON)
  set(older_libstdcxx ${UNDERLAP_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/older_libstdcxx.py)
  list(JOIN older_libstdcxx " " command)
  install(CODE "execute_process(COMMAND ${command} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/underlap\" COMMAND_ERROR_IS_FATAL ANY)")
endif()
# underlap_bundle(COMPONENT PROGRAM [plugin...]): the component holds the libraries of the program and of its plugins.
function(underlap_bundle component program)
  install(CODE "set(PROGRAM \"$<TARGET_FILE:${program}>\")\nset(PLUGINS [==[${ARGN}]==])\nset(LEFT_OUT [==[${left_out}]==])
                set(SET_APART [==[${set_apart}]==])\nset(OLDER_LIBSTDCXX [==[${older_libstdcxx}]==])"
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(SCRIPT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/BundleLibraries.cmake COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
underlap_bundle(bundle underlap)
if(UNDERLAP_HAS_VIEWER)
  set(from ${QT6_INSTALL_PREFIX}/${QT6_INSTALL_PLUGINS})
  set(plugins)
  foreach(plugin platforms/libqxcb platforms/libqoffscreen iconengines/libqsvgicon imageformats/libqsvg
                 platforminputcontexts/libcomposeplatforminputcontextplugin)
    list(APPEND plugins ${from}/${plugin}.so)
    get_filename_component(folder ${plugin} DIRECTORY)
    install(FILES ${from}/${plugin}.so DESTINATION lib/underlap/qt/${folder} COMPONENT viewer_bundle EXCLUDE_FROM_ALL)
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/qt.conf CONTENT "[Paths]\nPrefix = ..\nPlugins = lib/underlap/qt\n")
  install(FILES ${PROJECT_BINARY_DIR}/qt.conf DESTINATION bin COMPONENT viewer_bundle EXCLUDE_FROM_ALL)
  underlap_bundle(viewer_bundle underlap-viewer ${plugins})
endif()

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME underlap)
set(CPACK_PACKAGE_VENDOR Underlap)
set(CPACK_PACKAGE_CONTACT "Underlap maintainers <maintainers@underlap.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures overlap of communication in training steps of LLMs")
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_FILE_NAME underlap-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
if(UNDERLAP_HAS_CUDA)
  string(APPEND CPACK_PACKAGE_FILE_NAME -cuda)
endif()
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME underlap)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Runs one training step with each overlap technique on and off, on CPU threads,
on GPUs or in virtual time, and says how much of its communication was hidden
under compute. Reads traces of PyTorch's profiler and Nsight Systems too.")
set(CPACK_DEBIAN_VIEWER_PACKAGE_NAME underlap-viewer)
set(CPACK_DEBIAN_VIEWER_PACKAGE_DEPENDS "underlap (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_COMPONENT_VIEWER_DESCRIPTION
    "Timelines, charts and comparisons of runs and traces, in windows
or as pictures.")

set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/PackageComponents.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/DebianFiles.cmake)
include(CPack)
