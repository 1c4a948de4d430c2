# Read by cpack once for each kind of package: which components make it. The viewer by cpack -D CPACK_UNDERLAP_VIEWER=ON.
if(CPACK_GENERATOR STREQUAL DEB)
  set(CPACK_COMPONENTS_ALL program)
  if(CPACK_UNDERLAP_VIEWER)
    list(APPEND CPACK_COMPONENTS_ALL viewer)
  endif()
  set(CPACK_COMPONENTS_GROUPING IGNORE)  # a package each
else()
  set(CPACK_COMPONENTS_ALL program bundle)
  if(CPACK_UNDERLAP_VIEWER)
    list(APPEND CPACK_COMPONENTS_ALL viewer viewer_bundle)
    string(REPLACE underlap- underlap-viewer- CPACK_PACKAGE_FILE_NAME "${CPACK_PACKAGE_FILE_NAME}")
  endif()
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)  # unpacked, it is one folder
endif()
