if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  telltale_test(agent_unwind_test LABEL unit
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_unwind_table_test.cc ${CMAKE_CURRENT_LIST_DIR}/agent_unwind_walk_test.cc
      ${CMAKE_CURRENT_LIST_DIR}/agent_unwind_store_test.cc ${CMAKE_CURRENT_LIST_DIR}/agent_unwind_own_stack_test.cc
      ${CMAKE_CURRENT_LIST_DIR}/eh_frame_writer.cc
    LINK telltale::agent_unwind telltale::agent_symbols)
  # The truth it is held against must be found by unwind information too.
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/agent_unwind_own_stack_test.cc PROPERTIES
    COMPILE_OPTIONS "-O2;-fomit-frame-pointer;-fno-optimize-sibling-calls")
endif()
