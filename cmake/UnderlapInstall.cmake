# The profiler for other programs: find_package(Underlap) gives Underlap::formats and the other layers below.
#
# It is a component of its own, which neither the default build nor `cmake --install build` takes:
#   cmake --build build --target underlap_library && cmake --install build --component library --prefix PREFIX
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(layers platform trace formats attribution analysis page graph input statistics certainty report compare gate)
# A program that reads traces takes neither a backend nor CUDA along.
underlap_only_links(formats platform trace)
underlap_only_links(attribution platform trace)
underlap_only_links(analysis platform trace)
underlap_only_links(graph platform trace analysis)
underlap_only_links(input platform trace formats attribution analysis graph)

add_custom_target(underlap_library)
foreach(layer IN LISTS layers)
  add_dependencies(underlap_library underlap_${layer})
  set_target_properties(underlap_${layer} PROPERTIES EXPORT_NAME ${layer})
  target_include_directories(underlap_${layer} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/underlap>)
  target_compile_features(underlap_${layer} INTERFACE cxx_std_20)
  target_link_libraries(underlap_${layer} PUBLIC $<INSTALL_INTERFACE:fmt::fmt>)
  install(TARGETS underlap_${layer} EXPORT UnderlapTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library EXCLUDE_FROM_ALL)
endforeach()
install(DIRECTORY platform profiler DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/underlap COMPONENT library EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.hpp" PATTERN "collect" EXCLUDE PATTERN "kineto" EXCLUDE PATTERN "nsys" EXCLUDE)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Underlap)
install(EXPORT UnderlapTargets NAMESPACE Underlap:: DESTINATION ${package} COMPONENT library EXCLUDE_FROM_ALL)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/UnderlapConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/UnderlapConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/UnderlapConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/UnderlapConfig.cmake ${PROJECT_BINARY_DIR}/UnderlapConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/UnderlapFind.cmake
        DESTINATION ${package} COMPONENT library EXCLUDE_FROM_ALL)
