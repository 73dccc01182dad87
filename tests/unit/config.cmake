telltale_test(config_test LABEL unit
  SOURCES unit/config_test.cc ${CMAKE_SOURCE_DIR}/agent/config.cc
  LINK telltale::config absl::strings)
telltale_test(bundle_name_test LABEL unit SOURCES unit/bundle_name_test.cc LINK telltale::bundle)
telltale_test(config_check_test LABEL unit
  SOURCES unit/config_check_test.cc support/pki.cc
  LINK telltale::collector OpenSSL::SSL absl::time)
