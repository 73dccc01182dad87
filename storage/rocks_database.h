// The one RocksDB of a data directory: column families, options, error translation, recovery after
// a full disk. Owned by the Store; history and catalog are two faces of it. Thread-safe.
//
// After a failed write RocksDB takes no more writes, for some errors until it is opened anew. So
// work happens on an instance that Use() hands out: when the last write failed and a probe shows
// that the disk takes writes again, Use() resumes or reopens the database first. Until then reading
// goes on from the instance there is, and writes and syncs answer with the error that stopped them:
// RocksDB must not hear of them, since a sync of a log whose last write failed ends the process
// (an assertion of WritableFileWriter that distributions build in). What a damaged file stopped
// stays stopped until salvage (salvage.h) has taken the file out.

#ifndef TELLTALE_STORAGE_ROCKS_DATABASE_H_
#define TELLTALE_STORAGE_ROCKS_DATABASE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rocksdb/db.h"
#include "storage/history.h"

namespace telltale::storage {

struct RocksOptions {
  std::string path;
  rocksdb::Env* env = nullptr;      // nullptr: the real one; outlives the database
  size_t memory_bytes = 512 << 20;  // block cache, with the write buffers charged to it
  bool read_only = false;           // changes no file; writes are refused. Must exist
  bool compacts = true;             // false: rewrites no file by itself
};

// An open database. Whoever holds one keeps it open; hold it for one batch or one scan, not longer.
class RocksInstance {
 public:
  // Unavailable: another process holds the lock; DataLoss: damaged; others by their cause.
  static absl::StatusOr<std::shared_ptr<RocksInstance>> Open(const RocksOptions& options);
  ~RocksInstance();

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* catalog() { return handles_.front(); }
  rocksdb::ColumnFamilyHandle* family(Family family) {
    return handles_[1 + static_cast<size_t>(family)];
  }

 private:
  RocksInstance() = default;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*>
      handles_;  // catalog, then families; released before db_
};

class RocksDatabase {
 public:
  static absl::StatusOr<std::unique_ptr<RocksDatabase>> Open(const RocksOptions& options);

  // Unavailable only while the database is being reopened after a write error.
  absl::StatusOr<std::shared_ptr<RocksInstance>> Use();

  // Writes the batch, unsynced or synced; an error is remembered for Use().
  absl::Status Write(RocksInstance& instance, rocksdb::WriteBatch* batch, bool sync,
                     const char* step);
  absl::Status SyncLog(RocksInstance& instance);
  // How often it was opened: grows when it is opened anew after a write error.
  uint64_t beginnings() const { return beginnings_.load(std::memory_order_acquire); }
  absl::Status Failure() const;  // the error that stopped writing; OK when nothing did

  // Reads every block of every table file against its checksum. Told the name of each file that is
  // not good, what it holds ("dict") and its first fault. `watch` is asked before each file; false:
  // stop (Cancelled). Another error: they could not all be checked.
  using BadFile = std::function<void(const std::string& name, const std::string& family,
                                     const absl::Status& fault)>;
  using FileWatcher = std::function<bool(uint64_t checked_bytes, uint64_t all_bytes)>;
  absl::Status CheckFiles(const BadFile& bad, const FileWatcher& watch);
  // As History::ScanOver, of the catalog as it is on disk.
  absl::Status ScanCatalogOver(std::string_view from, std::string_view to, const RowVisitor& visit,
                               const DamageVisitor& damaged);

 private:
  explicit RocksDatabase(RocksOptions options) : options_(std::move(options)) {}
  absl::Status Note(const rocksdb::Status& status, const char* step);
  void Recover();
  bool DiskTakesWrites() const;

  const RocksOptions options_;
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> beginnings_{1};
  std::mutex recover_mutex_;  // one recovery at a time
  // Writers share it; a recovery has it alone, so that it does not meet a log in the moment of its
  // failure. Taken before mutex_.
  std::shared_mutex log_mutex_;
  mutable std::mutex mutex_;
  absl::Status failure_;                     // guarded by mutex_
  std::shared_ptr<RocksInstance> instance_;  // guarded by mutex_; null while reopening
};

// The one translator of RocksDB's statuses. NoSpace: ResourceExhausted; lock held: Unavailable;
// corruption: DataLoss; NotFound; other I/O errors: Unavailable. `step` and `object` begin the
// message.
absl::Status FromRocks(const rocksdb::Status& status, std::string_view step,
                       std::string_view object);

inline rocksdb::Slice ToSlice(std::string_view v) { return {v.data(), v.size()}; }
inline std::string_view ToView(const rocksdb::Slice& s) { return {s.data(), s.size()}; }

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROCKS_DATABASE_H_
