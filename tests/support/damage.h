// Damage to a store's files as a bad disk does it.

#ifndef TELLTALE_TESTS_SUPPORT_DAMAGE_H_
#define TELLTALE_TESTS_SUPPORT_DAMAGE_H_

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb/table_properties.h"
#include "storage/rocks_database.h"

namespace telltale::testing {

// Overwrites some bytes of a file.
inline void DamageFile(const std::filesystem::path& path, uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.write("\xff\x00\xff\x00", 4);
}

// At the front of the largest table file of a closed store: that of rollups, of which opening reads
// little. Its name.
inline std::string DamageLargestTable(const std::string& rocks) {
  std::filesystem::path largest;
  for (const auto& entry : std::filesystem::directory_iterator(rocks)) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) {
      largest = entry.path();
    }
  }
  DamageFile(largest, 100);
  return largest.filename();
}

// The table files of a closed store that hold rows of this family ("default": the catalog), largest
// first.
inline std::vector<std::filesystem::path> TablesOf(const std::string& rocks,
                                                   std::string_view family) {
  const auto database = storage::RocksInstance::Open({.path = rocks, .read_only = true});
  if (!database.ok()) return {};
  std::vector<rocksdb::LiveFileMetaData> files;
  (*database)->db().GetLiveFilesMetaData(&files);
  std::vector<std::filesystem::path> tables;
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name == family) tables.emplace_back(file.db_path + file.name);
  }
  std::ranges::sort(tables, std::greater<>(),
                    [](const auto& path) { return std::filesystem::file_size(path); });
  return tables;
}

// A block of each of them, of `share` of its bytes behind its beginning.
inline std::vector<std::filesystem::path> DamageTablesOf(const std::string& rocks,
                                                         std::string_view family,
                                                         double share = 0) {
  const std::vector<std::filesystem::path> tables = TablesOf(rocks, family);
  for (const std::filesystem::path& path : tables) {
    const auto bytes = static_cast<double>(std::filesystem::file_size(path));
    // The middle of a small one is what is read of it at opening, and no rows.
    constexpr double kSmall = 16 << 10;
    if (share != 0 && bytes < kSmall) continue;
    DamageFile(path, share == 0 ? 20 : static_cast<uint64_t>(bytes * share));
  }
  return tables;
}

// The files bodies of rows lie in.
inline std::vector<std::filesystem::path> BodiesIn(const std::string& rocks) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(rocks)) {
    if (entry.path().extension() == ".blob") files.push_back(entry.path());
  }
  return files;
}

// By its name; "default": the catalog.
inline rocksdb::ColumnFamilyHandle* FamilyOf(storage::RocksInstance& database,
                                             std::string_view family) {
  for (size_t i = 0; i < storage::kFamilies; ++i) {
    rocksdb::ColumnFamilyHandle* const handle = database.family(static_cast<storage::Family>(i));
    if (handle->GetName() == family) return handle;
  }
  return database.catalog();
}

// Whether RocksDB could rewrite all files of a family.
inline bool CompactAll(storage::RocksInstance& database, std::string_view family) {
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  return database.db().CompactRange(all, FamilyOf(database, family), nullptr, nullptr).ok();
}

// All blocks of rows of a family between two shares of what it holds, in the order of its keys.
// First it is compacted as a store's files are in time: what was just written would be rewritten at
// once, which stops all writing. The table file's name; empty: it is not one file.
inline std::string DamageRows(const std::string& rocks, std::string_view family, double from,
                              double to) {
  std::filesystem::path table;
  uint64_t bytes = 0;
  {
    const auto database = storage::RocksInstance::Open({.path = rocks});
    if (!database.ok()) return "";
    rocksdb::ColumnFamilyHandle* const handle = FamilyOf(**database, family);
    if (!CompactAll(**database, family)) return "";
    rocksdb::TablePropertiesCollection tables;
    if (!(*database)->db().GetPropertiesOfAllTables(handle, &tables).ok()) return "";
    if (tables.size() != 1) return "";
    table = std::filesystem::path(rocks) / std::filesystem::path(tables.begin()->first).filename();
    bytes = tables.begin()->second->data_size;
  }
  constexpr uint64_t kLessThanABlock = 512;
  const auto end = static_cast<uint64_t>(static_cast<double>(bytes) * to);
  for (auto at = static_cast<uint64_t>(static_cast<double>(bytes) * from); at + 8 < end;
       at += kLessThanABlock) {
    DamageFile(table, at);
  }
  return table.filename();
}

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_DAMAGE_H_
