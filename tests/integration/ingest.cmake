add_library(telltale_collector_rig STATIC
  ${CMAKE_CURRENT_LIST_DIR}/../support/collector_process.cc
  ${CMAKE_CURRENT_LIST_DIR}/../support/pki.cc
  ${CMAKE_CURRENT_LIST_DIR}/../support/program.cc
  ${CMAKE_CURRENT_LIST_DIR}/../support/raw_agent.cc)
target_link_libraries(telltale_collector_rig PUBLIC telltale_ingest_bench telltale::services
  OpenSSL::Crypto telltale::warnings)
target_compile_definitions(telltale_collector_rig PRIVATE
  TELLTALE_COLLECTOR_PROGRAM="$<TARGET_FILE:telltale-collector>"
  TELLTALE_PROGRAM="$<TARGET_FILE:telltale>")
add_dependencies(telltale_collector_rig telltale-collector telltale)

telltale_test(ingest_tls_test LABEL integration
  SOURCES integration/ingest_tls_test.cc LINK telltale_collector_rig)
telltale_test(deploy_down_test LABEL integration
  SOURCES integration/deploy_down_test.cc LINK telltale_collector_rig)
telltale_test(terminal_test LABEL integration
  SOURCES integration/terminal_test.cc LINK telltale_collector_rig)
telltale_test(incident_test LABEL integration
  SOURCES integration/incident_test.cc support/pseudo_terminal.cc
  LINK telltale_collector_rig telltale::cli)
telltale_test(documents_test LABEL integration
  SOURCES integration/documents_test.cc support/pseudo_terminal.cc LINK telltale_collector_rig)
telltale_test(hostile_test LABEL integration TIMEOUT 600
  SOURCES integration/hostile_rig.cc integration/hostile_identity_test.cc
    integration/hostile_summary_test.cc integration/hostile_http_test.cc
    integration/hostile_connection_test.cc integration/hostile_list_test.cc support/mutations.cc
    support/synthetic_node.cc support/held_connection.cc support/https_client.cc
  LINK telltale_collector_rig telltale::codec telltale::collector_tls OpenSSL::SSL)
telltale_test(rotation_test LABEL integration TIMEOUT 300
  SOURCES integration/rotation_test.cc support/https_client.cc
  LINK telltale_collector_rig OpenSSL::SSL)
telltale_test(token_test LABEL integration
  SOURCES integration/token_test.cc support/https_client.cc
  LINK telltale_collector_rig telltale::access telltale::storage OpenSSL::SSL)
telltale_test(incident_feed_test LABEL integration
  SOURCES integration/incident_feed_test.cc support/https_client.cc support/plain_http.cc
  LINK telltale_collector_rig OpenSSL::SSL)
target_compile_definitions(incident_feed_test PRIVATE TELLTALE_STORE_DECODER="$<TARGET_FILE:store_decoder>")
add_dependencies(incident_feed_test store_decoder)
