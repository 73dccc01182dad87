telltale_test(alert_test LABEL unit
  SOURCES unit/alert_test.cc support/plain_http.cc support/program.cc
  LINK telltale::alert)
telltale_test(feed_test LABEL unit
  SOURCES unit/feed_test.cc support/program.cc LINK telltale::feed telltale::services absl::strings)
