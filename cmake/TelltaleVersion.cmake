# TELLTALE_VERSION from git: the last tag and the commit, or "0.0.0-unknown" outside a checkout.
find_package(Git QUIET)
set(TELLTALE_VERSION "0.0.0-unknown")
if(GIT_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} describe --tags --always --dirty
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    if(described MATCHES "^v[0-9]")
      string(SUBSTRING "${described}" 1 -1 TELLTALE_VERSION)
    else()
      set(TELLTALE_VERSION "0.1.0-${described}")
    endif()
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${CMAKE_BINARY_DIR}/generated/telltale_version.h)
