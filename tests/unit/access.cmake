telltale_test(access_test LABEL unit tsan SOURCES unit/access_test.cc
  LINK telltale::access telltale::address_limits)
