add_library(telltale_crash_disk STATIC
  ${CMAKE_CURRENT_LIST_DIR}/../support/crash_disk.cc
  ${CMAKE_CURRENT_LIST_DIR}/../support/crash_writer.cc)
target_link_libraries(telltale_crash_disk PUBLIC telltale::storage telltale_synthetic
  PRIVATE telltale_fault_disk telltale::warnings)
telltale_test(crash_test LABEL integration TIMEOUT 900
  SOURCES integration/crash_test.cc support/crash_agents.cc support/crash_collector.cc
    support/plain_http.cc support/spool_witness.cc
  LINK telltale_crash_disk telltale_agent_rig telltale::agent_spool telltale::storage)
