telltale_test(cli_text_test LABEL unit SOURCES unit/cli_text_test.cc LINK telltale::cli absl::time)
