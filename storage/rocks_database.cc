#include "storage/rocks_database.h"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/table.h"
#include "rocksdb/transaction_log.h"
#include "rocksdb/write_batch.h"
#include "rocksdb/write_buffer_manager.h"
#include "storage/scan_over.h"

namespace telltale::storage {
namespace {

// The cache is divided so that threads seldom wait for each other. A part must hold what is read as
// a whole, also from tables written before filters came in parts: 32 MiB of the usual cache.
constexpr int kCacheShardBits = 4;

// A filter or index is read in parts. That of a dictionary of millions of names has megabytes, and
// as a whole does not stay in a cache's part beside the write buffers: each name that was looked up
// read it from the file again. None is read before it is asked for (pinned ones are, at opening): a
// damaged one is damage to what it leads to, and no reason not to open.
rocksdb::BlockBasedTableOptions TableOptions(const std::shared_ptr<rocksdb::Cache>& cache,
                                             size_t block_size) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = block_size;
  table.format_version = 5;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 16 << 10;
  table.cache_index_and_filter_blocks = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  return table;
}

rocksdb::ColumnFamilyOptions FamilyOptions(const std::shared_ptr<rocksdb::Cache>& cache,
                                           bool compacts) {
  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(cache, 16 << 10)));
  family.compression = rocksdb::kZSTD;
  family.write_buffer_size = 32 << 20;
  family.level_compaction_dynamic_level_bytes = true;
  family.target_file_size_base = 32 << 20;
  family.force_consistency_checks = true;
  family.disable_auto_compactions = !compacts;
  return family;
}

// Bodies are compressed already and are written once, dropped by the day: they go to blob files,
// past compaction.
rocksdb::ColumnFamilyOptions BodyOptions(rocksdb::ColumnFamilyOptions family) {
  family.compression = rocksdb::kNoCompression;
  family.enable_blob_files = true;
  family.min_blob_size = 512;
  family.blob_file_size = 64 << 20;
  family.blob_compression_type = rocksdb::kNoCompression;
  return family;
}

// Contents of blobs go past compaction, too; rows of the other tables are shorter than they.
rocksdb::ColumnFamilyOptions CatalogOptions(rocksdb::ColumnFamilyOptions family) {
  family.enable_blob_files = true;
  family.min_blob_size = 64 << 10;
  family.blob_file_size = 16 << 20;  // a file goes when the last content in it has gone
  family.blob_compression_type = rocksdb::kZSTD;
  return family;
}

// Whether a name is known is asked for far more often than it is: a filter over what is in memory
// answers that without a search, as those of the files do.
rocksdb::ColumnFamilyOptions DictOptions(rocksdb::ColumnFamilyOptions family) {
  family.memtable_whole_key_filtering = true;
  family.memtable_prefix_bloom_size_ratio = 0.02;  // some 16 bits a row
  return family;
}

// Rows of one node's neighbouring windows repeat each other's strings: larger blocks see more of
// that. Ten windows of five minutes of a busy node are one block, and are read one after the other.
rocksdb::ColumnFamilyOptions RollupOptions(rocksdb::ColumnFamilyOptions family,
                                           const std::shared_ptr<rocksdb::Cache>& cache) {
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(cache, 256 << 10)));
  return family;
}

// Its number; 0: unknown.
uint64_t CurrentLog(rocksdb::DB& db) {
  std::unique_ptr<rocksdb::LogFile> log;
  return db.GetCurrentWalFile(&log).ok() ? log->LogNumber() : 0;
}

// RocksDB's own log would be a file in the directory.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace

absl::Status FromRocks(const rocksdb::Status& status, std::string_view step,
                       std::string_view object) {
  if (status.ok()) return absl::OkStatus();
  const std::string text =
      absl::StrCat(std::string(step), " ", std::string(object), ": ", status.ToString());
  if (status.IsNotFound()) return absl::NotFoundError(text);
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::SubCode::kNoSpace ||
      status.subcode() == rocksdb::Status::SubCode::kSpaceLimit) {
    return absl::ResourceExhaustedError(
        absl::StrCat(text, "; the disk is full: free space or lower retention.max_bytes"));
  }
  if (status.IsCorruption()) return absl::DataLossError(text);
  if (status.IsIOError() && text.find("lock") != std::string::npos &&
      text.find("LOCK") != std::string::npos) {
    return absl::UnavailableError(absl::StrCat(
        std::string(step), " ", std::string(object),
        ": another process holds this data directory; stop it or choose another directory"));
  }
  return absl::UnavailableError(text);
}

absl::StatusOr<std::shared_ptr<RocksInstance>> RocksInstance::Open(const RocksOptions& options) {
  std::shared_ptr<RocksInstance> instance(new RocksInstance());

  rocksdb::LRUCacheOptions cache_options;
  cache_options.capacity = options.memory_bytes;
  cache_options.num_shard_bits = kCacheShardBits;
  std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(cache_options);

  rocksdb::DBOptions db_options;
  db_options.create_if_missing = true;
  db_options.create_missing_column_families = true;
  db_options.env = options.env != nullptr ? options.env : rocksdb::Env::Default();
  db_options.paranoid_checks = true;
  // A torn tail is what a crash leaves; damage before it must not pass for one.
  db_options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db_options.write_buffer_manager =
      std::make_shared<rocksdb::WriteBufferManager>(options.memory_bytes / 2, cache);
  db_options.max_total_wal_size = std::max<uint64_t>(64 << 20, options.memory_bytes / 2);
  db_options.max_background_jobs = 2;
  db_options.max_open_files = 2000;
  db_options.bytes_per_sync = 1 << 20;
  db_options.wal_bytes_per_sync = 1 << 20;
  db_options.keep_log_file_num = 4;
  db_options.max_log_file_size = 4 << 20;
  db_options.max_manifest_file_size = 64 << 20;

  const rocksdb::ColumnFamilyOptions base = FamilyOptions(cache, options.compacts);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, CatalogOptions(base));
  for (size_t i = 0; i < kFamilies; ++i) {
    const Family family = static_cast<Family>(i);
    rocksdb::ColumnFamilyOptions family_options = base;
    if (family == Family::kRaw || family == Family::kCells) family_options = BodyOptions(base);
    if (family == Family::kDict) family_options = DictOptions(base);
    if (family == Family::kRollup) family_options = RollupOptions(base, cache);
    families.emplace_back(std::string(FamilyName(family)), family_options);
  }
  rocksdb::DB* db = nullptr;
  rocksdb::Status status;
  if (options.read_only) {
    db_options.create_if_missing = false;
    db_options.info_log = std::make_shared<NoLog>();
    status =
        rocksdb::DB::OpenForReadOnly(db_options, options.path, families, &instance->handles_, &db);
  } else {
    status = rocksdb::DB::Open(db_options, options.path, families, &instance->handles_, &db);
  }
  if (!status.ok()) return FromRocks(status, "open store", options.path);
  instance->db_.reset(db);
  return instance;
}

RocksInstance::~RocksInstance() {
  if (db_ == nullptr) return;
  rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  db_->Close().PermitUncheckedError();
}

absl::StatusOr<std::unique_ptr<RocksDatabase>> RocksDatabase::Open(const RocksOptions& options) {
  auto instance = RocksInstance::Open(options);
  if (!instance.ok()) return instance.status();
  std::unique_ptr<RocksDatabase> database(new RocksDatabase(options));
  database->instance_ = *std::move(instance);
  return database;
}

absl::StatusOr<std::shared_ptr<RocksInstance>> RocksDatabase::Use() {
  // Counters that RocksDB keeps for each thread, at each comparison of two keys; nobody reads them.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  if (failed_.load(std::memory_order_acquire)) Recover();
  std::lock_guard<std::mutex> lock(mutex_);
  if (instance_ == nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "use store ", options_.path, ": it is being opened anew after a write error; try again"));
  }
  return instance_;
}

// A file's worth of writing and syncing beside the database.
bool RocksDatabase::DiskTakesWrites() const {
  rocksdb::Env* env = options_.env != nullptr ? options_.env : rocksdb::Env::Default();
  const std::string probe = options_.path + "/PROBE";
  const rocksdb::Status wrote =
      rocksdb::WriteStringToFile(env, std::string(64 << 10, 'p'), probe, /*should_sync=*/true);
  env->DeleteFile(probe).PermitUncheckedError();
  return wrote.ok();
}

void RocksDatabase::Recover() {
  std::unique_lock<std::mutex> only(recover_mutex_, std::try_to_lock);
  if (!only.owns_lock() || !failed_.load(std::memory_order_acquire)) return;
  // Opened anew it would meet the same damaged block, take some writes before each time, and look
  // well between.
  if (absl::IsDataLoss(Failure())) return;
  if (!DiskTakesWrites()) return;  // keep what there is for reading
  std::shared_ptr<RocksInstance> old;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    old = std::move(instance_);
    instance_ = nullptr;
  }
  if (old != nullptr) {
    std::unique_lock<std::shared_mutex> log(log_mutex_);
    // Resuming flushes what is in memory and begins a new log with it. Of an empty memory it keeps
    // the log there is, and another write to a log whose last write failed ends the process.
    const uint64_t failed_log = CurrentLog(old->db());
    const bool resumed = old->db().Resume().ok() && CurrentLog(old->db()) != failed_log;
    log.unlock();
    if (resumed) {
      failed_.store(false, std::memory_order_release);
      std::lock_guard<std::mutex> lock(mutex_);
      instance_ = std::move(old);
      return;
    }
    // Only a database that nobody uses can be closed; batches and scans under way end soon.
    for (int i = 0; i < 200 && old.use_count() > 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (old.use_count() > 1) {
      std::lock_guard<std::mutex> lock(mutex_);
      instance_ = std::move(old);
      return;
    }
    old.reset();
  }
  auto opened = RocksInstance::Open(options_);
  if (!opened.ok()) return;  // tried again by the next Use()
  beginnings_.fetch_add(1, std::memory_order_acq_rel);
  failed_.store(false, std::memory_order_release);
  std::lock_guard<std::mutex> lock(mutex_);
  instance_ = *std::move(opened);
}

absl::Status RocksDatabase::Note(const rocksdb::Status& status, const char* step) {
  absl::Status noted = FromRocks(status, step, absl::StrCat("store ", options_.path));
  if (absl::IsDataLoss(noted)) {
    noted = absl::DataLossError(absl::StrCat(
        std::string(noted.message()),
        "; a stored file is damaged and nothing is written any more, reading goes on: stop the "
        "collector, telltale-collector salvage takes the file out of the store"));
  }
  if (!noted.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    failure_ = noted;
    failed_.store(true, std::memory_order_release);
  }
  return noted;
}

absl::Status RocksDatabase::Failure() const {
  if (!failed_.load(std::memory_order_acquire)) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

absl::Status RocksDatabase::CheckFiles(const BadFile& bad, const FileWatcher& watch) {
  auto instance = Use();
  if (!instance.ok()) return instance.status();
  // Compaction deletes none of them meanwhile; of a database that is only read it is not there.
  const bool held = (*instance)->db().DisableFileDeletions().ok();
  std::vector<rocksdb::LiveFileMetaData> files;
  (*instance)->db().GetLiveFilesMetaData(&files);
  rocksdb::ReadOptions reading;
  reading.fill_cache = false;
  reading.readahead_size = 1 << 20;
  uint64_t checked_bytes = 0, all_bytes = 0;
  for (const rocksdb::LiveFileMetaData& file : files) all_bytes += file.size;
  absl::Status done;
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (watch && !watch(checked_bytes, all_bytes)) {
      done = absl::CancelledError(
          absl::StrCat("check files: stopped after ", checked_bytes, " of ", all_bytes, " bytes"));
      break;
    }
    checked_bytes += file.size;
    rocksdb::ColumnFamilyHandle* handle = (*instance)->catalog();
    for (size_t i = 0; i < kFamilies; ++i) {
      rocksdb::ColumnFamilyHandle* const other = (*instance)->family(static_cast<Family>(i));
      if (other->GetName() == file.column_family_name) handle = other;
    }
    const rocksdb::Options options = (*instance)->db().GetOptions(handle);
    const rocksdb::Status checked =
        rocksdb::VerifySstFileChecksum(options, rocksdb::EnvOptions(options), reading,
                                       file.db_path + file.name, file.largest_seqno);
    if (checked.ok()) continue;
    const bool catalog = handle == (*instance)->catalog();
    bad(file.name.substr(file.name.find_first_not_of('/')),
        catalog ? "catalog" : file.column_family_name, FromRocks(checked, "check", "file"));
  }
  if (held) (*instance)->db().EnableFileDeletions(/*force=*/false).PermitUncheckedError();
  return done;
}

absl::Status RocksDatabase::ScanCatalogOver(std::string_view from, std::string_view to,
                                            const RowVisitor& visit, const DamageVisitor& damaged) {
  auto instance = Use();
  if (!instance.ok()) return instance.status();
  return ScanOver((*instance)->db(), (*instance)->catalog(), from, to, visit, damaged);
}

absl::Status RocksDatabase::Write(RocksInstance& instance, rocksdb::WriteBatch* batch, bool sync,
                                  const char* step) {
  std::shared_lock<std::shared_mutex> log(log_mutex_);
  if (const absl::Status failure = Failure(); !failure.ok()) return failure;
  rocksdb::WriteOptions options;
  options.sync = sync;
  return Note(instance.db().Write(options, batch), step);
}

absl::Status RocksDatabase::SyncLog(RocksInstance& instance) {
  // A synced write of nothing makes all before it durable, shares its sync with the commits that
  // wait beside it, and holds up no other write longer than they do.
  rocksdb::WriteBatch nothing;
  return Write(instance, &nothing, /*sync=*/true, "sync");
}

}  // namespace telltale::storage
