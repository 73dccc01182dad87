telltale_test(incident_book_test LABEL unit SOURCES unit/incident_book_test.cc LINK telltale::incident)
telltale_test(filter_ewma_test LABEL unit SOURCES unit/filter_ewma_test.cc LINK telltale::filter)
telltale_test(filter_detect_test LABEL unit
  SOURCES unit/filter_detect_test.cc unit/filter_detect_process_test.cc
  LINK telltale::filter)
telltale_test(filter_versions_test LABEL unit SOURCES unit/filter_versions_test.cc LINK telltale::filter telltale::formats absl::str_format)
target_compile_definitions(filter_versions_test PRIVATE TELLTALE_PROGRAM="$<TARGET_FILE:telltale>")
add_dependencies(filter_versions_test telltale)
# The example that is shipped, as it is.
add_library(filter_example OBJECT ${CMAKE_SOURCE_DIR}/deploy/filters/crowded/crowded.c)
target_include_directories(filter_example PRIVATE ${CMAKE_BINARY_DIR}/tests/filter_include)
telltale_test(filter_example_test LABEL unit SOURCES unit/filter_example_test.cc LINK telltale::filter)
target_sources(filter_example_test PRIVATE $<TARGET_OBJECTS:filter_example>)
telltale_test(filter_fleet_test LABEL unit SOURCES unit/filter_fleet_test.cc LINK telltale::filter)
telltale_test(filter_rules_test LABEL unit
  SOURCES unit/filter_rules_test.cc unit/filter_rules_held_test.cc unit/filter_rules_blocked_test.cc unit/filter_rules_node_test.cc
  LINK telltale::filter)
telltale_test(filter_record_test LABEL unit SOURCES unit/filter_record_test.cc LINK telltale::filter telltale::filter_record telltale::formats)
telltale_test(filter_runner_test LABEL unit SOURCES unit/filter_open_test.cc unit/filter_replay_test.cc unit/filter_resting_test.cc unit/filter_runner_test.cc unit/filter_upgrade_test.cc
  LINK telltale::filter)
telltale_test(filter_fresh_bodies_test LABEL unit SOURCES unit/filter_fresh_bodies_test.cc
  LINK telltale::filter telltale_ingest_bench telltale_synthetic)
telltale_test(query_anomalies_test LABEL unit SOURCES unit/query_anomalies_test.cc LINK telltale::filter_query)
telltale_test(filter_log_test LABEL unit tsan SOURCES unit/filter_log_test.cc LINK telltale::filter)
telltale_test(filter_host_reply_test LABEL unit SOURCES unit/filter_host_reply_test.cc LINK telltale::filter_host)
telltale_test(filter_source_test LABEL unit SOURCES unit/filter_source_test.cc LINK telltale::filter telltale_query_store)
# The public header is C11 and needs nothing else of Telltale: compiling it is the test.
add_library(filter_header_c11 OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/unit/filter_header_c11.c)
target_include_directories(filter_header_c11 PRIVATE ${CMAKE_SOURCE_DIR}/collector/filter)
target_compile_options(filter_header_c11 PRIVATE -std=c11 -pedantic -Wall -Wextra -Werror)
target_sources(filter_runner_test PRIVATE $<TARGET_OBJECTS:filter_header_c11>)
