# Flags of every target, and one function for a layer's library and one for its tests.
add_library(underlap_flags INTERFACE)
target_include_directories(underlap_flags INTERFACE ${PROJECT_SOURCE_DIR})
# nvcc takes its own options, and hands -Xcompiler's to the host compiler. (In a source that
# another one includes, GCC warns about types with members of anonymous namespaces, as in a header.)
target_compile_options(underlap_flags INTERFACE
                       $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wno-psabi;-Wno-subobject-linkage>
                       $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-psabi;--expt-relaxed-constexpr>)
# What is computed must be the same on every machine, also where the processor could fuse a multiply with the addition
# after it. Most CUDA implementations are bound by memory, and agree with the host's to the bit.
target_compile_options(underlap_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
                       $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>)
# Position-independent code as fast as that of a program: a function of ours is never replaced at run time.
target_compile_options(underlap_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
# GCC collects garbage again and again in the little that it begins with: a tenth of the time of the longer sources.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(underlap_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=500000>")
endif()
# Lines and functions are what a backtrace or a profiler needs; descriptions of variables take a third of the compile time.
# Tests say themselves where they fail, and only a sanitizer asks for their lines.
set(needs_lines $<OR:$<BOOL:${UNDERLAP_SANITIZE}>,$<NOT:$<BOOL:$<TARGET_PROPERTY:UNDERLAP_IS_TEST>>>>)
target_compile_options(underlap_flags INTERFACE
                       $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-g$<IF:${needs_lines},1,0>>
                       $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CUDA>>:-Xcompiler=-g1>)
# A test's own code is checked for its addresses and races, which are shared with what it tests, but not for undefined
# behaviour: that alone doubles the time to compile matchers. Checks of every pointer take a third
# of the time to compile the product, so they are off: the address sanitizer finds null pointers and overruns.
foreach(sanitizer IN LISTS UNDERLAP_SANITIZE)
  set(sanitized $<COMPILE_LANGUAGE:CXX>)
  set(unchecked)
  if(sanitizer STREQUAL undefined)
    set(sanitized $<AND:${sanitized},$<NOT:$<BOOL:$<TARGET_PROPERTY:UNDERLAP_IS_TEST>>>>)
    set(unchecked
        -fno-sanitize=null,alignment,object-size,vptr,nonnull-attribute,returns-nonnull-attribute,pointer-overflow)
  endif()
  target_compile_options(underlap_flags INTERFACE
                         $<${sanitized}:-fsanitize=${sanitizer};${unchecked};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  target_link_options(underlap_flags INTERFACE -fsanitize=${sanitizer})
endforeach()
if(UNDERLAP_FUZZ)
  target_compile_options(underlap_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

# What sources include most of the standard library and fmt, compiled once: a library's own includes are half of the time
# that a source takes to compile. fmt and OpenMP for every target, as precompiled headers want the same flags everywhere.
# A source with flags of its own takes none (SKIP_PRECOMPILE_HEADERS): GCC 12 fails where levels of optimisation differ.
# (check_includes wants each file to include what it uses by itself all the same.)
target_link_libraries(underlap_flags INTERFACE fmt::fmt OpenMP::OpenMP_CXX)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/nothing.cpp CONTENT "")
set(UNDERLAP_COMMON_HEADERS
    <algorithm> <array> <chrono> <cmath> <cstring> <filesystem> <fstream> <functional> <limits> <map> <memory> <mutex>
    <numeric> <optional> <set> <span> <stdexcept> <string> <string_view> <thread> <tuple> <unordered_map> <utility>
    <vector> <fmt/format.h>)

# underlap_code(TARGET [COLD] [EACH]): flags of every target. Except in Debug, eight files are compiled as one source, in half
# to three quarters of the time; their anonymous namespaces share names.
# COLD: code that no training step waits for (rules, reports, command lines) is optimized little, in two thirds of the time.
# EACH: every file is compiled alone: techniques, which use equal names for equal parts, and files that a variant (below)
# or a test replaces or leaves out.
function(underlap_code target)
  cmake_parse_arguments(ARG "COLD;EACH" "" "" ${ARGN})
  if(NOT ARG_EACH AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_link_libraries(${target} PRIVATE underlap_flags)
  else()
    # Whoever links an installed library has flags of its own.
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:underlap_flags>)
  endif()
  set(headers underlap_headers)
  if(ARG_COLD)
    set(headers underlap_cold_headers)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-Og>)
  endif()
  if("${target}" STREQUAL "${headers}")
    target_precompile_headers(${target} PRIVATE ${UNDERLAP_COMMON_HEADERS})
  else()
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()
add_library(underlap_headers OBJECT ${CMAKE_BINARY_DIR}/nothing.cpp)
underlap_code(underlap_headers)
add_library(underlap_cold_headers OBJECT ${CMAKE_BINARY_DIR}/nothing.cpp)
underlap_code(underlap_cold_headers COLD)

# underlap_program(NAME [COLD] [EACH] SOURCES file... LINKS target...): an executable.
function(underlap_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
  underlap_code(${name} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# underlap_gpu_program(NAME [COLD] [EACH] SOURCES file... LINKS target...): an executable that also exists in variants
# (underlap_variant), which link its objects, the library NAME_code, again.
function(underlap_gpu_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name}_code OBJECT ${ARG_SOURCES})
  target_link_libraries(${name}_code PRIVATE ${ARG_LINKS})
  underlap_code(${name}_code ${ARG_UNPARSED_ARGUMENTS})
  underlap_has_variants(${name} ${ARG_LINKS})
endfunction()

# underlap_has_variants(NAME target...): NAME is an executable of NAME_code's objects and those targets.
function(underlap_has_variants name)
  add_executable(${name})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE ${name}_code ${ARGN})
  set_property(GLOBAL APPEND PROPERTY UNDERLAP_GPU_PROGRAMS ${name})
  set_property(GLOBAL PROPERTY UNDERLAP_LINKS_OF_${name} ${ARGN})
endfunction()

# underlap_variant(NAME target...): links each GPU program again as bin-NAME/PROGRAM, with all of those static libraries
# first: their definitions replace those of the libraries after them. Target NAME_programs builds them. A shared library
# that only a replaced definition needs is not needed any more.
function(underlap_variant variant)
  get_property(programs GLOBAL PROPERTY UNDERLAP_GPU_PROGRAMS)
  add_custom_target(${variant}_programs)
  foreach(program IN LISTS programs)
    get_property(links GLOBAL PROPERTY UNDERLAP_LINKS_OF_${program})
    set(target ${program}_${variant})
    add_executable(${target} EXCLUDE_FROM_ALL)
    target_link_libraries(${target} PRIVATE ${program}_code ${links})
    foreach(library IN LISTS ARGN)
      target_link_options(${target} BEFORE PRIVATE LINKER:--as-needed
                          LINKER:--whole-archive,$<TARGET_FILE:${library}>,--no-whole-archive)
      add_dependencies(${target} ${library})
      set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:${library}>)
    endforeach()
    # With its folder in it, since Ninja builds this output for "ninja PROGRAM", too, where OUTPUT_NAME is the plain name.
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME bin-${variant}/${program}
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    add_dependencies(${variant}_programs ${target})
  endforeach()
endfunction()

# underlap_layer(NAME [COLD] [EACH] SOURCES file... LINKS target...): one layer, one library underlap_NAME.
function(underlap_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(underlap_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(underlap_${name} PUBLIC ${ARG_LINKS})
  underlap_code(underlap_${name} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# underlap_only_links(LAYER layer...): an error where the layer's library needs another layer than those, itself or through
# them. Includes are check_layers' matter; this is what a program would link.
function(underlap_only_links layer)
  set(needed underlap_${layer})
  while(needed)
    list(POP_FRONT needed library)
    get_target_property(links ${library} LINK_LIBRARIES)
    foreach(link IN LISTS links)
      string(REGEX REPLACE "^underlap_" "" name "${link}")
      if(link STREQUAL name)
        continue()
      elseif(NOT name IN_LIST ARGN)
        message(FATAL_ERROR "underlap_${layer} may link ${ARGN}, but ${library} links ${link}")
      endif()
      list(APPEND needed ${link})
    endforeach()
  endwhile()
endfunction()

# underlap_test_code(TARGET): how code that tests others is compiled. What it tests is optimised; its own code, mostly
# matchers, would take half as long again to compile. Four files are one source, since a source of tests spends half of its
# time on instances of matchers that its neighbours want too; Debug compiles each by itself, as suits work on one of them.
function(underlap_test_code target)
  target_link_libraries(${target} PRIVATE underlap_flags GTest::gmock)
  set_target_properties(${target} PROPERTIES UNDERLAP_IS_TEST TRUE)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
  endif()
  if(NOT target STREQUAL underlap_test_headers)
    target_precompile_headers(${target} REUSE_FROM underlap_test_headers)
  endif()
  target_compile_options(${target} PRIVATE
                         $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
  # Without the lines of the product, linking takes 0.4 of the time and a third of the disk. Debug and sanitizers keep them.
  if(NOT UNDERLAP_SANITIZE)
    target_link_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:LINKER:-S>)
  endif()
endfunction()

# underlap_tests(NAME SOURCES file... LINKS target... LABELS label... [COST cost]): one test program underlap_NAME_tests, which
# target underlap_LABEL_tests builds too. Labels say what it takes: unit, numerics or slow (more than a few seconds), native
# (starts processes); and which sanitizers it runs under, too: memory (reads files of others or moves memory by hand: address
# and undefined), threads (shares data between threads). Tests with a higher cost start first: those of minutes, which would
# else run alone at the end.
function(underlap_tests name)
  cmake_parse_arguments(ARG "" "COST" "SOURCES;LINKS;LABELS" ${ARGN})
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  add_executable(underlap_${name}_tests ${ARG_SOURCES})
  target_link_libraries(underlap_${name}_tests PRIVATE ${ARG_LINKS} GTest::gtest_main)
  underlap_test_code(underlap_${name}_tests)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  foreach(label IN LISTS ARG_LABELS)
    if(NOT TARGET underlap_${label}_tests)
      add_custom_target(underlap_${label}_tests)
    endif()
    add_dependencies(underlap_${label}_tests underlap_${name}_tests)
  endforeach()
  # One word: discovered tests lose what follows the first of a list. ctest -L finds a part of a word.
  list(JOIN ARG_LABELS "-" label)
  set(limit_s 300)
  if(slow IN_LIST ARG_LABELS)
    set(limit_s 900)
  endif()
  gtest_discover_tests(underlap_${name}_tests DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS ${label} TIMEOUT ${limit_s} COST ${ARG_COST})
endfunction()
