telltale_test(query_container_test LABEL unit
  SOURCES unit/query_container_test.cc LINK telltale::query)
telltale_test(query_answers_test LABEL unit SOURCES unit/query_answers_test.cc LINK telltale::query)
telltale_test(query_errors_test LABEL unit SOURCES unit/query_errors_test.cc LINK telltale::query)
add_library(telltale_query_store STATIC support/query_store.cc)
target_link_libraries(telltale_query_store
  PUBLIC telltale::query telltale_synthetic PRIVATE telltale::warnings)
telltale_test(query_tiers_test LABEL unit TIMEOUT 300
  SOURCES unit/query_tiers_test.cc LINK telltale_query_store)
telltale_test(query_cache_test LABEL unit
  SOURCES unit/query_cache_test.cc LINK telltale_query_store)
telltale_test(query_comparison_test LABEL unit
  SOURCES unit/query_comparison_test.cc LINK telltale_query_store)
telltale_test(query_fit_test LABEL unit SOURCES unit/query_fit_test.cc LINK telltale::query)
telltale_test(query_bounds_test LABEL unit SOURCES unit/query_bounds_test.cc LINK telltale::query)
telltale_test(query_service_test LABEL unit
  SOURCES unit/query_service_test.cc LINK telltale::query_service telltale::services)
