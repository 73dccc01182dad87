telltale_test(cli_spool_state_test LABEL unit
  SOURCES unit/cli_spool_state_test.cc LINK telltale::cli telltale::agent_spool PkgConfig::XXHASH)
telltale_test(cli_text_test LABEL unit
  SOURCES unit/cli_text_test.cc unit/cli_time_test.cc unit/cli_files_test.cc LINK telltale::cli absl::time)
telltale_test(cli_answers_test LABEL unit
  SOURCES unit/cli_answers_test.cc LINK telltale::cli absl::time)
telltale_test(cli_diff_test LABEL unit SOURCES unit/cli_diff_test.cc LINK telltale::cli absl::time)
telltale_test(cli_hostile_test LABEL unit
  SOURCES unit/cli_hostile_test.cc LINK telltale::cli telltale::codec absl::strings absl::time)
telltale_test(cli_incident_test LABEL unit
  SOURCES unit/cli_incident_test.cc LINK telltale::cli absl::strings absl::time)
telltale_test(cli_page_test LABEL unit SOURCES unit/cli_page_test.cc LINK telltale::cli absl::time)
