find_package(RocksDB CONFIG REQUIRED)
add_library(telltale_synthetic STATIC support/synthetic_node.cc)
target_link_libraries(telltale_synthetic PUBLIC telltale::codec PRIVATE telltale::warnings)
target_include_directories(telltale_synthetic PUBLIC ${CMAKE_SOURCE_DIR})

telltale_test(storage_keys_test LABEL unit SOURCES unit/storage_keys_test.cc LINK telltale::storage)
telltale_test(storage_fresh_bodies_test LABEL unit tsan
  SOURCES unit/storage_fresh_bodies_test.cc LINK telltale::storage)
telltale_test(storage_ledger_test LABEL unit
  SOURCES unit/storage_ledger_test.cc LINK telltale::storage)
telltale_test(storage_node_book_test LABEL unit
  SOURCES unit/storage_node_book_test.cc LINK telltale::storage)
telltale_test(storage_conformance_test LABEL unit tsan
  SOURCES unit/storage_conformance_test.cc LINK telltale::storage telltale_fault_disk RocksDB::rocksdb-shared)
telltale_test(storage_blob_conformance_test LABEL unit
  SOURCES unit/storage_blob_conformance_test.cc LINK telltale::storage RocksDB::rocksdb-shared)
telltale_test(storage_dictionary_test LABEL unit
  SOURCES unit/storage_dictionary_test.cc LINK telltale::storage RocksDB::rocksdb-shared)
# Apart from the others: under the thread sanitizer it takes seconds to clear a dictionary's memory of names.
telltale_test(storage_dictionary_race_test LABEL unit tsan
  SOURCES unit/storage_dictionary_race_test.cc LINK telltale::storage)
telltale_test(storage_store_test LABEL unit
  SOURCES unit/storage_store_test.cc LINK telltale::storage telltale_synthetic)

add_library(telltale_store_check STATIC support/store_check.cc)
target_link_libraries(telltale_store_check PUBLIC telltale::storage PRIVATE telltale::warnings)
add_library(telltale_fault_disk STATIC support/disk_journal.cc support/fault_file_system.cc)
target_link_libraries(telltale_fault_disk PUBLIC RocksDB::rocksdb-shared PRIVATE telltale::warnings)
target_include_directories(telltale_fault_disk PUBLIC ${CMAKE_SOURCE_DIR})
telltale_test(storage_fault_test LABEL unit
  SOURCES unit/storage_fault_test.cc
  LINK telltale::storage telltale_synthetic telltale_store_check telltale_fault_disk)

add_library(telltale_rollup_trial STATIC
  support/rollup_oracle.cc support/rollup_bounds.cc support/rollup_child.cc support/line_oracle.cc
  support/rollup_trial.cc)
target_link_libraries(telltale_rollup_trial
  PUBLIC telltale::storage PRIVATE telltale_synthetic telltale::warnings)
telltale_test(storage_rollup_test LABEL long TIMEOUT 240
  SOURCES unit/storage_rollup_test.cc LINK telltale_rollup_trial telltale_synthetic)
telltale_test(storage_read_test LABEL unit SOURCES unit/storage_read_test.cc LINK telltale::storage)
telltale_test(storage_scan_over_test LABEL unit
  SOURCES unit/storage_scan_over_test.cc LINK telltale::storage)
add_library(telltale_damaged_store STATIC support/damaged_store.cc)
target_link_libraries(telltale_damaged_store
  PUBLIC telltale::storage telltale_synthetic RocksDB::rocksdb-shared GTest::gtest PRIVATE telltale::warnings)
telltale_test(storage_damage_test LABEL unit
  SOURCES unit/storage_damage_test.cc LINK telltale_damaged_store)
telltale_test(storage_catalog_damage_test LABEL unit
  SOURCES unit/storage_catalog_damage_test.cc LINK telltale_damaged_store)
telltale_test(storage_salvage_test LABEL long TIMEOUT 240
  SOURCES unit/storage_salvage_test.cc LINK telltale_damaged_store)
telltale_test(storage_names_damage_test LABEL unit
  SOURCES unit/storage_names_damage_test.cc LINK telltale::storage RocksDB::rocksdb-shared)
telltale_test(catalog_books_damage_test LABEL unit
  SOURCES unit/catalog_books_damage_test.cc
  LINK telltale::access telltale::marks telltale::incident telltale::storage RocksDB::rocksdb-shared)
telltale_test(storage_expiry_test LABEL long TIMEOUT 240
  SOURCES unit/storage_expiry_test.cc LINK telltale::storage telltale_synthetic)
telltale_test(storage_pruning_test LABEL unit
  SOURCES unit/storage_pruning_test.cc LINK telltale::storage telltale_synthetic)
telltale_test(storage_retention_test LABEL unit
  SOURCES unit/storage_retention_test.cc LINK telltale::storage RocksDB::rocksdb-shared)
telltale_test(storage_verify_test LABEL long TIMEOUT 240
  SOURCES unit/storage_verify_test.cc LINK telltale::storage telltale_synthetic)
telltale_test(control_socket_test LABEL unit
  SOURCES unit/control_socket_test.cc LINK telltale::collector telltale::storage)
