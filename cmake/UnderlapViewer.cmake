# The viewer's Qt: UNDERLAP_VIEWER is AUTO (built where Qt 6 Widgets and Charts are found), ON or OFF.
set(UNDERLAP_VIEWER AUTO CACHE STRING "Build the viewer: AUTO, ON or OFF")
set_property(CACHE UNDERLAP_VIEWER PROPERTY STRINGS AUTO ON OFF)
set(UNDERLAP_HAS_VIEWER OFF)
if(UNDERLAP_VIEWER STREQUAL ON)
  find_package(Qt6 6.4 REQUIRED COMPONENTS Core Concurrent Gui Widgets Svg Charts Test)
  set(UNDERLAP_HAS_VIEWER ON)
elseif(UNDERLAP_VIEWER STREQUAL AUTO)
  find_package(Qt6 6.4 QUIET COMPONENTS Core Concurrent Gui Widgets Svg Charts Test)
  set(UNDERLAP_HAS_VIEWER ${Qt6_FOUND})
elseif(NOT UNDERLAP_VIEWER STREQUAL OFF)
  message(FATAL_ERROR "UNDERLAP_VIEWER is ${UNDERLAP_VIEWER}; it takes AUTO, ON or OFF")
endif()
if(NOT UNDERLAP_HAS_VIEWER)
  return()
endif()

# Qt's headers, compiled once. Qt wants code that can stand anywhere (-fPIC), and precompiled headers want the same flags
# everywhere, so these are not those of the rest.
add_library(underlap_qt_headers OBJECT ${CMAKE_BINARY_DIR}/nothing.cpp)
target_link_libraries(underlap_qt_headers PRIVATE underlap_flags Qt6::Widgets)
target_precompile_headers(underlap_qt_headers PRIVATE ${UNDERLAP_COMMON_HEADERS} <QtWidgets/QtWidgets>)

# underlap_qt_code(TARGET [EACH]): compiled as the viewer is, eight files as one source or each by itself (underlap_code).
function(underlap_qt_code target)
  cmake_parse_arguments(ARG "EACH" "" "" ${ARGN})
  target_link_libraries(${target} PRIVATE underlap_flags)
  if(NOT ARG_EACH AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  set_target_properties(${target} PROPERTIES AUTOMOC ON)
  target_precompile_headers(${target} REUSE_FROM underlap_qt_headers)
endfunction()

# underlap_qt_layer(NAME [EACH] SOURCES file... LINKS target...): one layer of the viewer, one library underlap_NAME.
function(underlap_qt_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(underlap_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(underlap_${name} PUBLIC ${ARG_LINKS} Qt6::Widgets)
  underlap_qt_code(underlap_${name} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# underlap_qt_test_code(TARGET): how code that tests the viewer is compiled (underlap_test_code says why so).
function(underlap_qt_test_code target)
  target_link_libraries(${target} PRIVATE underlap_flags GTest::gmock Qt6::Widgets)
  set_target_properties(${target} PROPERTIES UNDERLAP_IS_TEST TRUE)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
  if(NOT target STREQUAL underlap_qt_test_headers)
    set_target_properties(${target} PROPERTIES AUTOMOC ON)
    target_precompile_headers(${target} REUSE_FROM underlap_qt_test_headers)
  endif()
endfunction()

# underlap_qt_tests(NAME SOURCES file... LINKS target...): one test program underlap_NAME_tests of the viewer, with a
# QApplication that needs no screen (tests/viewer/main.cpp). Its label is viewer.
function(underlap_qt_tests name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(underlap_${name}_tests ${ARG_SOURCES})
  target_link_libraries(underlap_${name}_tests PRIVATE ${ARG_LINKS} underlap_qt_test_main)
  underlap_qt_test_code(underlap_${name}_tests)
  if(NOT TARGET underlap_viewer_tests)
    add_custom_target(underlap_viewer_tests)
  endif()
  add_dependencies(underlap_viewer_tests underlap_${name}_tests)
  gtest_discover_tests(underlap_${name}_tests DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS viewer TIMEOUT 300)
endfunction()
