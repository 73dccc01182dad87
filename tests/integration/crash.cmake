add_library(telltale_crash_disk STATIC
  ${CMAKE_CURRENT_LIST_DIR}/../support/crash_disk.cc
  ${CMAKE_CURRENT_LIST_DIR}/../support/crash_writer.cc)
target_link_libraries(telltale_crash_disk PUBLIC telltale::storage telltale_synthetic
  PRIVATE telltale_fault_disk telltale::warnings)
telltale_test(crash_test LABEL integration TIMEOUT 600
  SOURCES integration/crash_test.cc support/crash_collector.cc
  LINK telltale_crash_disk telltale_collector_rig telltale::storage)
