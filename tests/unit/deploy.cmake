telltale_test(dashboards_test LABEL unit SOURCES unit/dashboards_test.cc LINK telltale::dashboards)
telltale_test(configuration_reference_test LABEL unit SOURCES unit/configuration_reference_test.cc
  LINK telltale::agent_config telltale::collector_config absl::strings)
