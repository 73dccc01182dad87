// What a lookup reads from the files of a dictionary larger than the cache can hold as a whole.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "storage/keys.h"
#include "storage/rocks_database.h"
#include "storage/rocks_history.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

// Counts the bytes that are read at some place of a file, as lookups do.
class CountingFiles : public rocksdb::FileSystemWrapper {
 public:
  CountingFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "CountingFiles"; }
  uint64_t bytes() const { return bytes_; }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    rocksdb::IOStatus status = FileSystemWrapper::NewRandomAccessFile(name, options, &file, debug);
    if (status.ok()) *result = std::make_unique<File>(std::move(file), &bytes_);
    return status;
  }

 private:
  class File : public rocksdb::FSRandomAccessFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSRandomAccessFile> file, std::atomic<uint64_t>* bytes)
        : FSRandomAccessFileOwnerWrapper(std::move(file)), bytes_(bytes) {}
    rocksdb::IOStatus Read(uint64_t offset, size_t size, const rocksdb::IOOptions& options,
                           rocksdb::Slice* result, char* scratch,
                           rocksdb::IODebugContext* debug) const override {
      *bytes_ += size;
      return FSRandomAccessFileOwnerWrapper::Read(offset, size, options, result, scratch, debug);
    }

   private:
    std::atomic<uint64_t>* const bytes_;
  };

  std::atomic<uint64_t> bytes_{0};
};

TEST(StorageReadTest, ALookupReadsBlocksAndNotTheFilterOfAWholeFile) {
  constexpr uint64_t kNames = 400'000, kLookups = 500;
  const testing::TempDir dir;
  std::filesystem::create_directory(dir.path() + "/rocks");
  const auto files = std::make_shared<CountingFiles>();
  const auto env = rocksdb::NewCompositeEnv(files);
  // The filter has 500 KB, each of the cache's 16 parts 128.
  const auto database = RocksDatabase::Open({dir.path() + "/rocks", env.get(), 2 << 20});
  ASSERT_TRUE(database.ok()) << database.status();
  RocksHistory history(database->get());
  const auto key = [](uint64_t name) { return EncodeU64(name * 0x9e3779b97f4a7c15); };
  std::vector<Row> rows;
  for (uint64_t name = 0; name < kNames; ++name) {
    rows.push_back({Family::kDict, key(name), "a name", 0});
    if (rows.size() < 10'000) continue;
    ASSERT_TRUE(history.Append(rows).ok());
    rows.clear();
  }
  {
    const auto instance = (*database)->Use();
    ASSERT_TRUE(instance.ok()) << instance.status();
    rocksdb::DB& db = (*instance)->db();
    rocksdb::ColumnFamilyHandle* dict = (*instance)->family(Family::kDict);
    ASSERT_TRUE(db.CompactRange({}, dict, nullptr, nullptr).ok());  // to one file
  }
  const uint64_t before = files->bytes();
  for (uint64_t name = 0; name < kLookups; ++name) {
    ASSERT_TRUE(history.Get(Family::kDict, key(name * 797)).ok()) << name;
  }
  // A block of names, a part of the filter, a part of the index.
  EXPECT_LT((files->bytes() - before) / kLookups, 3u * (16 << 10));
}

}  // namespace
}  // namespace telltale::storage
