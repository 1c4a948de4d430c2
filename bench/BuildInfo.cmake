# Writes build_info.hpp at every build; configure_file leaves it alone unless something in it changed, so only a new
# commit recompiles the one file that includes it. Without git or a checkout the commit stays empty.
set(UNDERLAP_COMMIT "")
find_program(UNDERLAP_GIT git)
if(UNDERLAP_GIT)
  execute_process(COMMAND ${UNDERLAP_GIT} describe --always --dirty --abbrev=12
                  WORKING_DIRECTORY ${UNDERLAP_SOURCE_DIR} OUTPUT_VARIABLE UNDERLAP_COMMIT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.hpp.in ${UNDERLAP_BUILD_INFO} @ONLY)
