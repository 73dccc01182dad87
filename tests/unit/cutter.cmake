telltale_test(agent_epoch_cut_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_epoch_cut_test.cc ${CMAKE_CURRENT_LIST_DIR}/agent_sample_ranking_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/agent_sampled_hashes_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/agent_byte_bucket_test.cc ${CMAKE_CURRENT_LIST_DIR}/agent_name_book_test.cc
  LINK telltale::agent_epoch telltale::replay_sensor telltale::codec)
telltale_test(agent_label_bounds_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_label_bounds_test.cc LINK telltale::agent_epoch)
telltale_test(agent_epoch_fold_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_epoch_fold_test.cc ${CMAKE_CURRENT_LIST_DIR}/agent_wait_site_test.cc
  LINK telltale::agent_epoch telltale::replay_sensor telltale::codec)
telltale_test(agent_symbols_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_mount_list_test.cc ${CMAKE_CURRENT_LIST_DIR}/agent_symbols_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/agent_file_systems_test.cc
  LINK telltale::agent_symbols)
telltale_test(agent_host_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_host_test.cc
  LINK telltale::agent_host telltale::codec)
telltale_test(agent_start_pages_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_start_pages_test.cc
  LINK telltale::agent_host)
telltale_test(agent_node_events_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_node_events_test.cc
  LINK telltale::agent_epoch)
