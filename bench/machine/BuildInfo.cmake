# Writes build_info.hpp at every build; configure_file leaves it alone unless something in it changed, so only a new
# commit recompiles the one file that includes it. Without git or a checkout the commit stays empty.
set(UNDERLAP_COMMIT "")
set(UNDERLAP_DATE "")
set(UNDERLAP_COMMIT_UTC "")
find_program(UNDERLAP_GIT git)
if(UNDERLAP_GIT)
  execute_process(COMMAND ${UNDERLAP_GIT} rev-parse --short=12 HEAD
                  WORKING_DIRECTORY ${UNDERLAP_SOURCE_DIR} OUTPUT_VARIABLE UNDERLAP_COMMIT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${UNDERLAP_GIT} log -1 --format=%cs
                  WORKING_DIRECTORY ${UNDERLAP_SOURCE_DIR} OUTPUT_VARIABLE UNDERLAP_DATE
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC
                          ${UNDERLAP_GIT} log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd
                  WORKING_DIRECTORY ${UNDERLAP_SOURCE_DIR} OUTPUT_VARIABLE UNDERLAP_COMMIT_UTC
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # What was measured is no part of what measured it; the descriptions of machines in results/hardware are.
  execute_process(COMMAND ${UNDERLAP_GIT} diff --quiet HEAD -- . ":(exclude)results/*.json" ":(exclude)results/*.md"
                          ":(exclude)results/*.zst" ":(exclude)README.md"
                  WORKING_DIRECTORY ${UNDERLAP_SOURCE_DIR} RESULT_VARIABLE UNDERLAP_DIFFERS ERROR_QUIET)
  if(UNDERLAP_COMMIT AND UNDERLAP_DIFFERS EQUAL 1)
    string(APPEND UNDERLAP_COMMIT "-dirty")
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.hpp.in ${UNDERLAP_BUILD_INFO} @ONLY)
