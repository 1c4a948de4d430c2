# Read by cpack before it packs: what Debian wants otherwise than cmake --install leaves it.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()

function(underlap_compress file)
  find_program(UNDERLAP_GZIP gzip REQUIRED)
  execute_process(COMMAND ${UNDERLAP_GZIP} -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER CPACK_DEBIAN_${component}_PACKAGE_NAME name)
  set(name ${${name}})
  set(share ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
  string(TIMESTAMP year %Y UTC)
  file(WRITE ${share}/doc/${name}/copyright
       "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"
       "Files: *\nCopyright: ${year} ${CPACK_PACKAGE_CONTACT}\nLicense: Apache-2.0\n"
       " The text of the licence is in /usr/share/common-licenses/Apache-2.0.\n")
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
  file(WRITE ${share}/doc/${name}/changelog.Debian
       "${name} (${version}) unstable; urgency=medium\n\n  * CHANGELOG.md says what changed.\n\n"
       " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  underlap_compress(${share}/doc/${name}/changelog.Debian)
endforeach()

set(share ${CPACK_TEMPORARY_DIRECTORY}/program/usr/share)
underlap_compress(${share}/man/man1/underlap.1)
file(REMOVE ${share}/doc/underlap/LICENSE)  # copyright stands for it
file(RENAME ${share}/doc/underlap/CHANGELOG.md ${share}/doc/underlap/changelog)
underlap_compress(${share}/doc/underlap/changelog)
# Debian's zsh looks here, and not in site-functions.
file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
