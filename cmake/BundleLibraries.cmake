# At installation, with PROGRAM, PLUGINS, LEFT_OUT, SET_APART and OLDER_LIBSTDCXX set: what these need goes into lib/underlap, where the
# program looks first (CMAKE_INSTALL_RPATH); what is set apart into a folder there, where it does not look. Each file once and under the
# name that it is asked for by, since wheels hold no links; and the licence of each, where it is one of Debian's.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM} LIBRARIES ${PLUGINS} PRE_EXCLUDE_REGEXES ${LEFT_OUT}
     RESOLVED_DEPENDENCIES_VAR libraries)
find_program(UNDERLAP_DPKG_QUERY dpkg-query)
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)
  set(folder ${CMAKE_INSTALL_PREFIX}/lib/underlap)
  if(name MATCHES "${SET_APART}")
    string(APPEND folder /without_rdma)
  endif()
  file(REAL_PATH ${library} library)
  file(INSTALL DESTINATION ${folder} TYPE FILE RENAME ${name} FILES ${library})
  if(OLDER_LIBSTDCXX)
    execute_process(COMMAND ${OLDER_LIBSTDCXX} $ENV{DESTDIR}${folder}/${name} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  if(UNDERLAP_DPKG_QUERY)
    get_filename_component(file ${library} NAME)
    execute_process(COMMAND ${UNDERLAP_DPKG_QUERY} --search */${file} OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX REPLACE "[:,].*" "" owner "${owner}")
    if(EXISTS /usr/share/doc/${owner}/copyright)
      file(INSTALL DESTINATION ${CMAKE_INSTALL_PREFIX}/share/doc/underlap/licenses TYPE FILE RENAME ${owner}
           FILES /usr/share/doc/${owner}/copyright)
    endif()
  endif()
endforeach()
