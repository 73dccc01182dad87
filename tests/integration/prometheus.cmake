telltale_test(prometheus_test LABEL integration SOURCES integration/prometheus_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/support/synthetic_node.cc ${CMAKE_CURRENT_SOURCE_DIR}/support/plain_http.cc
  LINK telltale::web_front telltale::filter_query telltale::web_testing telltale::storage telltale::codec)
