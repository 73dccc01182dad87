telltale_test(formats_test LABEL unit
  SOURCES unit/formats_test.cc LINK telltale::formats telltale::profile_messages ZLIB::ZLIB absl::strings)
