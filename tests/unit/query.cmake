telltale_test(query_answers_test LABEL unit SOURCES unit/query_answers_test.cc LINK telltale::query)
