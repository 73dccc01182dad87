add_library(agentrt_support STATIC ${CMAKE_CURRENT_LIST_DIR}/agentrt_support.cc)
target_link_libraries(agentrt_support PUBLIC telltale::agent_spool telltale::codec telltale::warnings)
telltale_test(agentrt_spool_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_spool_test.cc
  LINK agentrt_support telltale::agent_spool telltale::codec)
telltale_test(agentrt_disk_writer_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_disk_writer_test.cc
  LINK agentrt_support telltale::agent_spool telltale::codec)
telltale_test(agentrt_supervisor_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_supervisor_test.cc LINK telltale::agent_supervise)
telltale_test(agentrt_uplink_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_uplink_test.cc ${CMAKE_CURRENT_LIST_DIR}/agentrt_uplink_stream_test.cc
  LINK agentrt_support telltale::agent_uplink telltale::agent_loop telltale::codec)
telltale_test(agentrt_send_queue_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_send_queue_test.cc LINK telltale::agent_uplink)
telltale_test(agentrt_clocks_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_clocks_test.cc
  LINK agentrt_support telltale::agent_uplink telltale::agent_loop telltale::codec)
telltale_test(agentrt_live_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_live_test.cc LINK telltale::agent_loop)
telltale_test(agentrt_epoch_source_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_epoch_source_test.cc LINK telltale::agent_loop telltale::replay_sensor)
telltale_test(agentrt_status_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agentrt_status_test.cc LINK telltale::agent_supervise)
telltale_test(uplink_transport_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/uplink_transport_test.cc ${CMAKE_CURRENT_LIST_DIR}/../support/pki.cc
  LINK telltale::agent_transport OpenSSL::Crypto)
