# Run by hand: prints ratios, asserts nothing.
add_executable(query_bench bench/query_bench.cc)
target_link_libraries(query_bench PRIVATE telltale_query_store telltale::metrics_store telltale::warnings)
