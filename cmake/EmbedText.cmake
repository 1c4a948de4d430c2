# Turns a text file into a string literal of C++, so that a program carries it along.

# underlap_embed_text(TARGET FILE TEMPLATE [NAME]): adds to TARGET a source NAME (TEMPLATE's without .in) made from
# TEMPLATE, whose @embedded_text@ is replaced by FILE as adjacent string literals of hexadecimal escapes, and other
# @variables@ by their values. Made again when either changes.
function(underlap_embed_text target file template)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  # As hexadecimal digits, because semicolons and brackets of a text mean something to CMake's lists.
  file(READ ${file} digits HEX)
  string(LENGTH "${digits}" length)
  set(embedded_text "")
  set(begin 0)
  # Chunks far below the length of a literal that compilers must accept (65536 characters).
  while(begin LESS length)
    string(SUBSTRING "${digits}" ${begin} 4096 chunk)
    string(REGEX REPLACE "(..)" "\\\\x\\1" chunk "${chunk}")
    string(APPEND embedded_text "    \"${chunk}\"\n")
    math(EXPR begin "${begin} + 4096")
  endwhile()
  get_filename_component(output ${template} NAME_WLE)
  if(ARGC GREATER 3)
    set(output ${ARGV3})
  endif()
  configure_file(${template} ${CMAKE_CURRENT_BINARY_DIR}/${output} @ONLY)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${output})
endfunction()
