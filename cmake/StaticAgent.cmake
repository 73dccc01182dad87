# TELLTALE_STATIC_AGENT: telltale-agent alone, with everything it needs inside it, for hosts with another libc, an older one
# or none (`cmake --preset static-agent`). Whatever it links has to be an archive then. Debian has them all except
# those of spdlog and fmt, whose headers do alone (telltale::log).
#
# Before libraries are looked for; telltale_take_archives() after that, from the same directory.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_link_options(-static)

# Packages that name their shared libraries have the archives beside them.
function(telltale_take_archives)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    if(NOT type STREQUAL "SHARED_LIBRARY" OR NOT configurations)
      continue()
    endif()
    foreach(configuration IN LISTS configurations)
      get_target_property(file ${target} IMPORTED_LOCATION_${configuration})
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${file}")
      if(EXISTS "${archive}")
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${archive}")
      endif()
    endforeach()
  endforeach()
endfunction()
