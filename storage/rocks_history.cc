#include "storage/rocks_history.h"

#include <memory>

#include "rocksdb/convenience.h"
#include "rocksdb/write_batch.h"
#include "storage/scan_over.h"

namespace telltale::storage {

absl::Status RocksHistory::Append(std::span<const Row> rows) {
  if (rows.empty()) return absl::OkStatus();
  auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  rocksdb::WriteBatch batch;
  for (const Row& row : rows) {
    const rocksdb::Status status =
        batch.Put((*instance)->family(row.family), ToSlice(row.key), ToSlice(row.value));
    if (!status.ok()) return FromRocks(status, "append to", FamilyName(row.family));
  }
  return database_->Write(**instance, &batch, /*sync=*/false, "append to");
}

absl::Status RocksHistory::Sync() {
  auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  return database_->SyncLog(**instance);
}

absl::StatusOr<std::string> RocksHistory::Get(Family family, std::string_view key) const {
  auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  std::string value;
  const rocksdb::Status status =
      (*instance)->db().Get({}, (*instance)->family(family), ToSlice(key), &value);
  if (status.IsNotFound()) return absl::NotFoundError("read history: no such row");
  if (!status.ok()) return FromRocks(status, "read", FamilyName(family));
  return value;
}

absl::Status RocksHistory::Scan(Family family, std::string_view from, std::string_view to,
                                const RowVisitor& visit) const {
  auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  rocksdb::ReadOptions options;
  const rocksdb::Slice upper = ToSlice(to);
  if (!to.empty()) options.iterate_upper_bound = &upper;
  std::unique_ptr<rocksdb::Iterator> it(
      (*instance)->db().NewIterator(options, (*instance)->family(family)));
  for (it->Seek(ToSlice(from)); it->Valid(); it->Next()) {
    if (!visit(ToView(it->key()), ToView(it->value()))) return absl::OkStatus();
  }
  return FromRocks(it->status(), "scan", FamilyName(family));
}

absl::Status RocksHistory::ScanOver(Family family, std::string_view from, std::string_view to,
                                    const RowVisitor& visit, const DamageVisitor& damaged) const {
  auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  return storage::ScanOver((*instance)->db(), (*instance)->family(family), from, to, visit,
                           damaged);
}

absl::Status RocksHistory::DropRange(Family family, std::string_view from, std::string_view to) {
  auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  rocksdb::ColumnFamilyHandle* handle = (*instance)->family(family);
  const rocksdb::Slice begin = ToSlice(from);
  const rocksdb::Slice end = ToSlice(to);
  // Whole files go at once; what shares a file with other data goes by a tombstone, then by
  // compaction.
  rocksdb::Status status =
      rocksdb::DeleteFilesInRange(&(*instance)->db(), handle, &begin, &end, /*include_end=*/false);
  if (!status.ok()) return FromRocks(status, "drop from", FamilyName(family));
  rocksdb::WriteBatch batch;
  status = batch.DeleteRange(handle, begin, end);
  if (!status.ok()) return FromRocks(status, "drop from", FamilyName(family));
  absl::Status dropped = database_->Write(**instance, &batch, /*sync=*/true, "drop from");
  const bool bodies = family == Family::kRaw || family == Family::kCells;
  if (!dropped.ok() || !bodies) return dropped;
  // A blob file goes when none of its keys is left. Of a few nodes the keys of weeks share one
  // small file that would not be compacted for as long, so that happens now; where it fails it is
  // left to later ones.
  (void)(*instance)->db().CompactRange({}, handle, &begin, &end);
  return absl::OkStatus();
}

absl::StatusOr<FamilySize> RocksHistory::Size(Family family) const {
  auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  rocksdb::DB& db = (*instance)->db();
  rocksdb::ColumnFamilyHandle* handle = (*instance)->family(family);
  FamilySize size;
  uint64_t value = 0;
  for (const std::string& property :
       {rocksdb::DB::Properties::kTotalSstFilesSize, rocksdb::DB::Properties::kTotalBlobFileSize,
        rocksdb::DB::Properties::kCurSizeAllMemTables}) {
    if (db.GetIntProperty(handle, property, &value)) size.bytes += value;
  }
  if (db.GetIntProperty(handle, rocksdb::DB::Properties::kEstimateNumKeys, &value)) {
    size.rows = value;
  }
  return size;
}

absl::StatusOr<uint64_t> RocksHistory::RangeBytes(Family family, std::string_view from,
                                                  std::string_view to) const {
  auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  const std::string all(1024, '\xff');  // no key is above it
  const rocksdb::Range ranges[] = {{ToSlice(from), to.empty() ? rocksdb::Slice(all) : ToSlice(to)},
                                   {rocksdb::Slice(), all}};
  rocksdb::DB& db = (*instance)->db();
  rocksdb::ColumnFamilyHandle* handle = (*instance)->family(family);
  rocksdb::SizeApproximationOptions in_memory, in_files;
  in_memory.include_memtables = true;
  in_memory.include_files = false;
  uint64_t memory = 0, files[2] = {};
  rocksdb::Status status = db.GetApproximateSizes(in_memory, handle, ranges, 1, &memory);
  if (status.ok()) status = db.GetApproximateSizes(in_files, handle, ranges, 2, files);
  if (!status.ok()) return FromRocks(status, "measure", FamilyName(family));
  // Of bodies the files of tables hold the keys alone; what lies in blob files is shared out by
  // them, without what compaction has found to be dropped.
  uint64_t blobs = 0, garbage = 0;
  db.GetIntProperty(handle, rocksdb::DB::Properties::kLiveBlobFileSize, &blobs);
  db.GetIntProperty(handle, rocksdb::DB::Properties::kLiveBlobFileGarbageSize, &garbage);
  if (blobs <= garbage || files[1] == 0) return memory + files[0];
  const double share = static_cast<double>(files[0]) / static_cast<double>(files[1]);
  return memory + files[0] + static_cast<uint64_t>(share * static_cast<double>(blobs - garbage));
}

}  // namespace telltale::storage
