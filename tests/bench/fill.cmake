# A store that is weeks old, for `tests/bench/run queries` and `run collector`.
telltale_library(bench_fill
  SOURCES bench/fill/filler.cc bench/fill/other_window.cc
  LINK telltale::storage telltale::fleetsim absl::status
  PRIVATE_LINK telltale::codec absl::strings Threads::Threads)
add_executable(fill_store bench/fill/main.cc)
target_link_libraries(fill_store PRIVATE telltale::bench_fill telltale::warnings)
# It makes and forgets an epoch at a time on each processor, as a collector does.
if(NOT TELLTALE_SANITIZE)
  pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
  target_link_libraries(fill_store PRIVATE PkgConfig::JEMALLOC)
endif()
telltale_test(fill_store_test LABEL long
  SOURCES unit/fill_store_test.cc LINK telltale::bench_fill telltale::query)
