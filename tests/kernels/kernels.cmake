# The sensor on a kernel that is not this host's: a verifier of another age says no to other programs.
if(TELLTALE_BPF AND NOT TELLTALE_SANITIZE)
  add_test(NAME kernel_loads_test
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/run --check --no-build --bin ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  set_tests_properties(kernel_loads_test PROPERTIES LABELS bpf TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
