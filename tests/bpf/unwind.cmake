if(TELLTALE_BPF AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_executable(deep_calls ${CMAKE_CURRENT_LIST_DIR}/programs/deep_calls.cc)
  target_compile_options(deep_calls PRIVATE -O2 -fomit-frame-pointer)
  target_link_libraries(deep_calls PRIVATE Threads::Threads)
  # The same with nothing but frame pointers, as code of other compilers may be.
  add_executable(deep_calls_framed ${CMAKE_CURRENT_LIST_DIR}/programs/deep_calls.cc)
  target_compile_options(deep_calls_framed PRIVATE -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
    -fno-exceptions -fno-unwind-tables -fno-asynchronous-unwind-tables)
  target_link_libraries(deep_calls_framed PRIVATE Threads::Threads)
  telltale_test(user_stacks_bpf_test LABEL bpf TIMEOUT 600
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/user_stacks_bpf_test.cc support/program.cc
    LINK telltale::sensor telltale::agent_unwind telltale::agent_symbols
    ENVIRONMENT "DEEP_CALLS=$<TARGET_FILE:deep_calls>;DEEP_CALLS_FRAMED=$<TARGET_FILE:deep_calls_framed>")
  add_dependencies(user_stacks_bpf_test deep_calls deep_calls_framed)
endif()
