# The real sensor on this host's kernel. One at a time: two would share tokens of attention, not counts,
# but loads of one test would disturb what another expects to be quiet.
if(TELLTALE_BPF)
  telltale_test(sensor_bpf_test LABEL bpf
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/sensor_fixture.cc ${CMAKE_CURRENT_LIST_DIR}/sensor_counts_bpf_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_waits_bpf_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_bpftrace_bpf_test.cc ${CMAKE_CURRENT_LIST_DIR}/sensor_peers_bpf_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_accounts_bpf_test.cc ${CMAKE_CURRENT_LIST_DIR}/sensor_disk_bpf_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_events_bpf_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_budget_bpf_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_rest_bpf_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_llc_bpf_test.cc
    LINK telltale::sensor)
  set_tests_properties(sensor_bpf_test PROPERTIES RUN_SERIAL TRUE TIMEOUT 1200)
  telltale_test(sensor_scope_bpf_test LABEL bpf
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/sensor_fixture.cc ${CMAKE_CURRENT_LIST_DIR}/sensor_scope_bpf_test.cc
    LINK telltale::sensor)
  set_tests_properties(sensor_scope_bpf_test PROPERTIES RUN_SERIAL TRUE TIMEOUT 600)
endif()
