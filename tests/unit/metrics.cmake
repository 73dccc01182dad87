telltale_test(metrics_page_test LABEL unit SOURCES unit/metrics_page_test.cc LINK telltale::metrics absl::strings)
telltale_test(metrics_store_test LABEL unit
  SOURCES unit/metrics_store_test.cc LINK telltale::metrics_store telltale::ingest telltale_synthetic)
