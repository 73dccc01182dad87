telltale_test(query_container_test LABEL unit
  SOURCES unit/query_container_test.cc LINK telltale::query)
telltale_test(query_answers_test LABEL unit SOURCES unit/query_answers_test.cc LINK telltale::query)
telltale_test(query_remarks_test LABEL unit
  SOURCES unit/query_remarks_test.cc LINK telltale::query telltale::cli absl::strings absl::time)
telltale_test(query_sparse_test LABEL unit SOURCES unit/query_sparse_test.cc LINK telltale::query)
telltale_test(query_errors_test LABEL unit SOURCES unit/query_errors_test.cc LINK telltale::query)
add_library(telltale_query_store STATIC support/query_store.cc)
target_link_libraries(telltale_query_store
  PUBLIC telltale::query telltale_synthetic PRIVATE telltale::warnings)
telltale_test(query_tiers_test LABEL long TIMEOUT 300
  SOURCES unit/query_tiers_test.cc LINK telltale_query_store)
telltale_test(query_extremes_test LABEL unit
  SOURCES unit/query_extremes_test.cc LINK telltale_query_store)
telltale_test(query_damage_test LABEL unit TIMEOUT 240
  SOURCES unit/query_damage_test.cc LINK telltale_query_store)
telltale_test(query_owners_test LABEL unit
  SOURCES unit/query_owners_test.cc LINK telltale_query_store)
telltale_test(query_process_test LABEL unit
  SOURCES unit/query_process_test.cc LINK telltale_query_store)
telltale_test(query_cache_test LABEL unit
  SOURCES unit/query_cache_test.cc LINK telltale_query_store)
telltale_test(query_comparison_test LABEL unit
  SOURCES unit/query_comparison_test.cc LINK telltale_query_store)
telltale_test(query_peers_test LABEL unit SOURCES unit/query_peers_test.cc LINK telltale::query)
telltale_test(query_pages_test LABEL unit SOURCES unit/query_pages_test.cc LINK telltale::query)
telltale_test(query_fit_test LABEL unit SOURCES unit/query_fit_test.cc LINK telltale::query)
telltale_test(query_bounds_test LABEL unit SOURCES unit/query_bounds_test.cc LINK telltale::query)
telltale_test(query_helpers_test LABEL unit SOURCES unit/query_helpers_test.cc LINK telltale::query)
telltale_test(query_service_test LABEL unit
  SOURCES unit/query_service_test.cc LINK telltale::query_service telltale::services)
add_library(telltale_kept_store STATIC support/kept_store.cc)
target_link_libraries(telltale_kept_store PUBLIC telltale::storage
  PRIVATE telltale::query telltale_synthetic absl::str_format telltale::warnings)
add_executable(write_golden_store EXCLUDE_FROM_ALL golden/write_store.cc)
target_link_libraries(write_golden_store PRIVATE telltale_kept_store telltale::warnings)
telltale_test(storage_kept_test LABEL unit
  SOURCES unit/storage_kept_test.cc LINK telltale_kept_store)
telltale_test(query_usual_test LABEL unit SOURCES unit/query_usual_test.cc LINK telltale::query)
telltale_test(query_investigate_test LABEL unit
  SOURCES unit/query_investigate_test.cc LINK telltale::query)
telltale_test(marks_test LABEL unit SOURCES unit/marks_test.cc LINK telltale::marks)
