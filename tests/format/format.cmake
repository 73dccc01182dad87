# Reads a store with none of its code: storage/FORMAT.md and the messages must be enough.
find_package(RocksDB CONFIG REQUIRED)
add_executable(store_decoder format/store_decoder.cc)
target_include_directories(store_decoder PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(store_decoder PRIVATE telltale_messages RocksDB::rocksdb-shared PkgConfig::ZSTD
  PkgConfig::XXHASH telltale::warnings)
