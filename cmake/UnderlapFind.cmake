# Libraries without a usable CMake package of their own: found by header and library, one imported target each. Installed
# with the profiler, whose users find the same.
function(underlap_find name target header)
  if(TARGET ${target})
    return()
  endif()
  find_path(UNDERLAP_${name}_INCLUDE ${header} REQUIRED)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} INTERFACE ${UNDERLAP_${name}_INCLUDE})
  foreach(library IN LISTS ARGN)
    find_library(UNDERLAP_LIB_${library} ${library} REQUIRED)
    target_link_libraries(${target} INTERFACE ${UNDERLAP_LIB_${library}})
  endforeach()
endfunction()

# What the profiler is made with.
underlap_find(PROTOZERO underlap::protozero protozero/pbf_writer.hpp)
underlap_find(SIMDJSON underlap::simdjson simdjson.h simdjson)
underlap_find(SQLITE underlap::sqlite3 sqlite3.h sqlite3)
underlap_find(ZSTD underlap::zstd zstd.h zstd)
underlap_find(ZLIB underlap::zlib zlib.h z)
