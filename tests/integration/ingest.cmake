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
