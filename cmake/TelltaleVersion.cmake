# TELLTALE_VERSION from git: the last tag and the commit, or "0.0.0-unknown" outside a checkout.
# TELLTALE_PACKAGE_VERSION: one that grows with each commit, as packages need it to be upgraded.
find_package(Git QUIET)
set(TELLTALE_VERSION "0.0.0-unknown")
set(TELLTALE_PACKAGE_VERSION "0.0.0")
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
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-list --count HEAD
      OUTPUT_VARIABLE commits OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --short HEAD
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(TELLTALE_PACKAGE_VERSION "0.1.0+git${commits}.${commit}")
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${CMAKE_BINARY_DIR}/generated/telltale_version.h)
