add_library(telltale_proto_bodies STATIC unit/proto_bodies.cc)
target_link_libraries(telltale_proto_bodies PUBLIC telltale::codec PRIVATE telltale::warnings)
telltale_test(proto_codec_test LABEL unit
  SOURCES unit/proto_codec_test.cc LINK telltale_proto_bodies)
telltale_test(proto_columns_test LABEL unit
  SOURCES unit/proto_columns_test.cc LINK telltale_proto_bodies)
telltale_test(proto_hostile_test LABEL unit
  SOURCES unit/proto_hostile_test.cc support/mutations.cc LINK telltale_proto_bodies)
telltale_test(proto_golden_test LABEL unit
  SOURCES unit/proto_golden_test.cc LINK telltale_proto_bodies)
telltale_test(proto_dump_test LABEL unit
  SOURCES unit/proto_dump_test.cc LINK telltale_proto_bodies)
telltale_test(proto_stream_test LABEL unit SOURCES unit/proto_stream_test.cc LINK telltale::codec)

add_executable(write_golden EXCLUDE_FROM_ALL golden/write_golden.cc)
target_include_directories(write_golden PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(write_golden PRIVATE telltale_proto_bodies telltale::warnings)
