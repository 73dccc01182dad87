if(TELLTALE_BPF)
  telltale_test(agent_epoch_live_test LABEL bpf
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_epoch_live_test.cc
    LINK telltale::sensor telltale::agent_epoch telltale::agent_symbols telltale::agent_host
      telltale::codec)
  # The test looks for its own function by name, through stacks that follow frame pointers.
  set_tests_properties(agent_epoch_live_test PROPERTIES RUN_SERIAL TRUE)
  target_compile_options(agent_epoch_live_test PRIVATE -fno-omit-frame-pointer -O1)
endif()
