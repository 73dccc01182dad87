telltale_test(metrics_page_test LABEL unit SOURCES unit/metrics_page_test.cc LINK telltale::metrics absl::strings)
