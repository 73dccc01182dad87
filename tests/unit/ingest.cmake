add_library(telltale_ingest_bench STATIC ${CMAKE_CURRENT_LIST_DIR}/../support/ingest_bench.cc)
target_link_libraries(telltale_ingest_bench PUBLIC telltale::ingest telltale::storage
  GTest::gtest telltale::warnings)

telltale_test(ingest_verdicts_test LABEL unit tsan
  SOURCES unit/ingest_verdicts_test.cc LINK telltale_ingest_bench)
telltale_test(ingest_nodes_test LABEL unit
  SOURCES unit/ingest_nodes_test.cc LINK telltale_ingest_bench)
telltale_test(ingest_clones_test LABEL unit tsan
  SOURCES unit/ingest_clones_test.cc LINK telltale_ingest_bench)
telltale_test(ingest_inbox_test LABEL unit tsan
  SOURCES unit/ingest_inbox_test.cc LINK telltale_ingest_bench)
telltale_test(ingest_config_test LABEL unit
  SOURCES unit/ingest_config_test.cc LINK telltale::collector_config absl::strings)
telltale_test(http_options_test LABEL unit
  SOURCES unit/http_options_test.cc LINK telltale::http_options)
telltale_test(ingest_order_test LABEL unit
  SOURCES unit/ingest_order_test.cc LINK telltale_ingest_bench telltale_synthetic telltale::storage)
telltale_test(live_service_test LABEL unit
  SOURCES unit/live_service_test.cc LINK telltale::ingest_service telltale::services)
telltale_test(ingest_rollup_test LABEL unit
  SOURCES unit/ingest_rollup_test.cc LINK telltale_ingest_bench telltale_synthetic telltale::collector)
