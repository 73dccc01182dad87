telltale_test(config_test LABEL unit
  SOURCES unit/config_test.cc ${CMAKE_SOURCE_DIR}/agent/config.cc
  LINK telltale::config absl::strings)
