if(TELLTALE_BPF)
  telltale_test(sensor_start_bpf_test LABEL bpf
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/sensor_start_bpf_test.cc LINK telltale::sensor)
endif()
