telltale_test(storage_day_test LABEL integration TIMEOUT 1500
  SOURCES integration/storage_day_test.cc LINK telltale_rollup_trial)
telltale_test(store_format_test LABEL integration TIMEOUT 300
  SOURCES integration/store_format_test.cc
  LINK telltale_collector_rig telltale_synthetic telltale::storage RocksDB::rocksdb-shared)
target_compile_definitions(store_format_test PRIVATE TELLTALE_STORE_DECODER="$<TARGET_FILE:store_decoder>")
add_dependencies(store_format_test store_decoder)
telltale_test(store_commands_test LABEL integration TIMEOUT 300
  SOURCES integration/store_commands_test.cc
  LINK telltale_collector_rig telltale::storage RocksDB::rocksdb-shared)
