# What the kernel sensor does in user space, on memory made up here.
if(TELLTALE_BPF)
  telltale_test(sensor_unit_test LABEL unit
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/sensor_budget_status_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_cgroup_scope_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_cost_pace_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_cpu_counters_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_disk_requests_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_drain_pace_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_epoch_reader_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_event_counts_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_host_counts_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_process_table_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_record_decoder_test.cc
            ${CMAKE_CURRENT_LIST_DIR}/sensor_stack_trimmer_test.cc
    LINK telltale::sensor)
endif()
