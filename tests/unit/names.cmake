# One library as it is linked, stripped, and stripped with its symbols packed beside the code as some distributions do.
add_library(named_functions SHARED ${CMAKE_CURRENT_LIST_DIR}/programs/named_functions.cc)
target_link_options(named_functions PRIVATE -Wl,--build-id)
find_program(TELLTALE_XZ xz REQUIRED)
set(named ${CMAKE_CURRENT_BINARY_DIR}/named_functions)
add_custom_command(OUTPUT ${named}.stripped ${named}.packed
  COMMAND ${CMAKE_OBJCOPY} --only-keep-debug --strip-debug $<TARGET_FILE:named_functions> ${named}.symbols
  COMMAND ${TELLTALE_XZ} --force --keep ${named}.symbols
  COMMAND ${CMAKE_STRIP} -o ${named}.stripped $<TARGET_FILE:named_functions>
  COMMAND ${CMAKE_OBJCOPY} --add-section .gnu_debugdata=${named}.symbols.xz ${named}.stripped ${named}.packed
  DEPENDS named_functions VERBATIM)
add_custom_target(named_functions_variants DEPENDS ${named}.stripped ${named}.packed)

telltale_test(agent_names_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_demangle_test.cc ${CMAKE_CURRENT_LIST_DIR}/agent_elf_symbols_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/agent_packed_names_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/agent_perf_map_test.cc ${CMAKE_CURRENT_LIST_DIR}/agent_perf_maps_test.cc
  LINK telltale::agent_symbols telltale::agent_host PkgConfig::LZMA ${CMAKE_DL_LIBS}
  ENVIRONMENT "NAMED_LINKED=$<TARGET_FILE:named_functions>;NAMED_STRIPPED=${named}.stripped;NAMED_PACKED=${named}.packed")
add_dependencies(agent_names_test named_functions_variants)
