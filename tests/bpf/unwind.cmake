if(TELLTALE_BPF AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_executable(deep_calls ${CMAKE_CURRENT_LIST_DIR}/programs/deep_calls.cc)
  target_compile_options(deep_calls PRIVATE -O2 -fomit-frame-pointer)
  target_link_libraries(deep_calls PRIVATE Threads::Threads)
  telltale_test(user_stacks_bpf_test LABEL bpf TIMEOUT 600
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/user_stacks_bpf_test.cc support/program.cc
    LINK telltale::sensor telltale::agent_unwind
    ENVIRONMENT "DEEP_CALLS=$<TARGET_FILE:deep_calls>")
  add_dependencies(user_stacks_bpf_test deep_calls)
endif()
