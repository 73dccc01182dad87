#include "storage/salvage_files.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rocksdb/utilities/ldb_cmd.h"
#include "rocksdb/write_batch.h"
#include "storage/scan_over.h"
#include "storage/verify_damage.h"

namespace telltale::storage {
namespace {

constexpr size_t kBatchBytes = 4 << 20;
constexpr uint64_t kWatchEvery = 1024;  // rows
constexpr size_t kMostKeyBytes = 1024;  // history.h

// The first key behind this one.
std::string Behind(std::string_view key) { return std::string(key) + '\0'; }

rocksdb::ColumnFamilyHandle* HandleOf(RocksInstance& instance, std::string_view family) {
  for (size_t i = 0; i < kFamilies; ++i) {
    if (FamilyName(static_cast<Family>(i)) == family) {
      return instance.family(static_cast<Family>(i));
    }
  }
  return instance.catalog();
}

// Rows into one family, past the log: the copy counts for nothing until all of it is on disk.
class Rewriter {
 public:
  Rewriter(RocksInstance& instance, rocksdb::ColumnFamilyHandle* family, const RowsWatcher& watch,
           uint64_t* rows)
      : instance_(instance), family_(family), watch_(watch), rows_(*rows) {
    unlogged_.disableWAL = true;
  }

  absl::Status Clear(std::string_view smallest, std::string_view largest) {
    return FromRocks(
        instance_.db().DeleteRange(unlogged_, family_, ToSlice(smallest), Behind(largest)),
        "salvage", family_->GetName());
  }
  absl::Status Put(std::string_view key, std::string_view value) {
    rocksdb::Status put = batch_.Put(family_, ToSlice(key), ToSlice(value));
    if (put.ok() && batch_.GetDataSize() >= kBatchBytes) put = Flush();
    if (!put.ok()) return FromRocks(put, "salvage", family_->GetName());
    if (++rows_ % kWatchEvery != 0 || !watch_ || watch_(rows_)) return absl::OkStatus();
    return absl::CancelledError(absl::StrCat("salvage: stopped after ", rows_, " rows"));
  }
  absl::Status Finish() {
    rocksdb::Status done = Flush();
    if (done.ok()) done = instance_.db().Flush({}, family_);
    return FromRocks(done, "salvage", family_->GetName());
  }

 private:
  rocksdb::Status Flush() {
    const rocksdb::Status written = instance_.db().Write(unlogged_, &batch_);
    batch_.Clear();
    return written;
  }

  RocksInstance& instance_;
  rocksdb::ColumnFamilyHandle* const family_;
  const RowsWatcher& watch_;
  uint64_t& rows_;
  rocksdb::WriteOptions unlogged_;
  rocksdb::WriteBatch batch_;
};

// Rows that the scan of the damaged store stepped over with a damaged block, and that it gives by
// their keys: they were written after it, or their files' filters say that it does not have them.
absl::Status PutNewer(RocksInstance& damaged, RocksInstance& fresh, const LostPart& lost,
                      const rocksdb::Snapshot* before, Rewriter& rewriter) {
  rocksdb::ReadOptions reading;
  reading.snapshot = before;
  reading.fill_cache = false;
  const rocksdb::Slice end(lost.to);
  reading.iterate_upper_bound = &end;
  const std::unique_ptr<rocksdb::Iterator> it(
      fresh.db().NewIterator(reading, HandleOf(fresh, lost.family)));
  for (it->Seek(lost.from); it->Valid(); it->Next()) {
    std::string value;
    const rocksdb::Status got =
        damaged.db().Get({}, HandleOf(damaged, lost.family), it->key(), &value);
    if (got.IsNotFound() || got.IsCorruption()) continue;
    absl::Status put = FromRocks(got, "read", lost.family);
    if (put.ok()) put = rewriter.Put(ToView(it->key()), value);
    if (!put.ok()) return put;
  }
  return FromRocks(it->status(), "scan", lost.family);
}

// The key of the first row from `from` on, which cannot be read because its body cannot. A scan
// that ends in front of it meets no row and no error; the key is the longest end for which it does
// so, found byte by byte.
absl::StatusOr<std::string> KeyOfUnreadable(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                                            const std::string& from) {
  const auto ends_in_front = [&](const std::string& end) {
    if (end <= from) return true;
    rocksdb::ReadOptions reading;
    const rocksdb::Slice bound(end);
    reading.iterate_upper_bound = &bound;
    reading.fill_cache = false;
    const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator(reading, family));
    it->Seek(from);
    return !it->Valid() && it->status().ok();
  };
  std::string key;
  while (ends_in_front(key + '\0')) {
    if (key.size() == kMostKeyBytes) {
      return absl::DataLossError(absl::StrCat("salvage: no key found of a row of ",
                                              family->GetName(), " that cannot be read"));
    }
    int in_front = 0, behind = UINT8_MAX + 1;
    while (behind - in_front > 1) {
      const int middle = in_front + (behind - in_front) / 2;
      (ends_in_front(key + static_cast<char>(middle)) ? in_front : behind) = middle;
    }
    key += static_cast<char>(in_front);
  }
  return key;
}

// Of one family.
absl::Status FindLostBodies(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                            std::string_view name, const RowsWatcher& watch, uint64_t* rows,
                            std::vector<LostPart>* lost) {
  rocksdb::ReadOptions reading;
  reading.fill_cache = false;
  std::string last;  // that was read, or was found to be lost
  std::string last_read;
  bool in_part = false;  // the last row is one of the last part
  std::unique_ptr<rocksdb::Iterator> it(db.NewIterator(reading, family));
  it->SeekToFirst();
  while (true) {
    for (; it->Valid(); it->Next()) {
      last_read.assign(it->key().data(), it->key().size());
      last = last_read;
      if (std::exchange(in_part, false)) lost->back().range.before = last_read;
      if (++*rows % kWatchEvery == 0 && watch && !watch(*rows)) {
        return absl::CancelledError(absl::StrCat("salvage: stopped after ", *rows, " bodies"));
      }
    }
    if (!it->status().IsCorruption()) return FromRocks(it->status(), "read bodies of", name);
    const absl::StatusOr<std::string> key =
        KeyOfUnreadable(db, family, last.empty() ? last : Behind(last));
    if (!key.ok()) return key.status();
    if (!std::exchange(in_part, true)) {
      lost->push_back({.family = std::string(name),
                       .range = {.after = last_read, .why = it->status().ToString()},
                       .from = *key,
                       .why = "lost with a damaged .blob file"});
    }
    LostPart& part = lost->back();
    ++part.range.rows;
    part.to = Behind(*key);
    part.keys.push_back(*key);
    last = *key;
    it.reset(db.NewIterator(reading, family));
    it->Seek(part.to);
  }
}

}  // namespace

absl::StatusOr<std::vector<DamagedFile>> FindDamaged(RocksDatabase& database) {
  std::map<std::string, DamagedFile> bad;
  const absl::Status checked = database.CheckFiles(
      [&](const std::string& name, const std::string& family, const absl::Status& fault) {
        bad[name] = {.name = name, .family = family, .fault = std::string(fault.message())};
      },
      {});
  if (!checked.ok()) return checked;
  const auto instance = database.Use();
  if (!instance.ok()) return instance.status();
  std::vector<rocksdb::LiveFileMetaData> live;
  (*instance)->db().GetLiveFilesMetaData(&live);
  std::vector<DamagedFile> found;
  for (const rocksdb::LiveFileMetaData& file : live) {
    const auto damaged = bad.find(file.name.substr(file.name.find_first_not_of('/')));
    if (damaged == bad.end()) continue;
    DamagedFile& whole = found.emplace_back(std::move(damaged->second));
    whole.number = file.file_number;
    whole.smallest = file.smallestkey;
    whole.largest = file.largestkey;
    whole.bytes = file.size;
  }
  std::ranges::sort(found, {}, &DamagedFile::number);
  return found;
}

std::vector<RewrittenRange> RangesOf(const std::vector<DamagedFile>& files) {
  std::vector<RewrittenRange> ranges;
  std::vector<const DamagedFile*> order;
  for (const DamagedFile& file : files) order.push_back(&file);
  std::ranges::sort(order, [](const DamagedFile* a, const DamagedFile* b) {
    return std::tie(a->family, a->smallest) < std::tie(b->family, b->smallest);
  });
  for (const DamagedFile* file : order) {
    if (ranges.empty() || ranges.back().family != file->family ||
        ranges.back().largest < file->smallest) {
      ranges.push_back({file->family, file->smallest, file->largest, {}});
    }
    ranges.back().largest = std::max(ranges.back().largest, file->largest);
    ranges.back().files.push_back(file->name);
  }
  return ranges;
}

absl::Status TakeOut(const std::string& rocks, const std::vector<DamagedFile>& files) {
  for (const DamagedFile& file : files) {
    const std::unique_ptr<rocksdb::LDBCommand> command(rocksdb::LDBCommand::InitFromCmdLineArgs(
        {absl::StrCat("--db=", rocks), "unsafe_remove_sst_file", absl::StrCat(file.number)},
        rocksdb::Options(), rocksdb::LDBOptions(), nullptr));
    if (command == nullptr || !command->ValidateCmdLineOptions()) {
      return absl::InternalError(
          absl::StrCat("salvage: RocksDB does not take the order to remove ", file.name));
    }
    command->Run();
    if (auto done = command->GetExecuteState(); !done.IsSucceed()) {
      return absl::DataLossError(absl::StrCat("salvage: RocksDB could not take ", file.name,
                                              " out of ", rocks, ": ", done.ToString()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LostPart>> WriteAnew(RocksDatabase& damaged, RocksDatabase& fresh,
                                                const std::vector<RewrittenRange>& ranges,
                                                const RowsWatcher& watch) {
  const auto from = damaged.Use();
  const auto into = fresh.Use();
  if (!from.ok()) return from.status();
  if (!into.ok()) return into.status();
  std::vector<LostPart> all;
  uint64_t rows = 0;
  for (const RewrittenRange& range : ranges) {
    rocksdb::ManagedSnapshot before(&(*into)->db());
    Rewriter rewriter(**into, HandleOf(**into, range.family), watch, &rows);
    absl::Status status = rewriter.Clear(range.smallest, range.largest);
    if (!status.ok()) return status;
    const std::string end = Behind(range.largest);
    std::vector<LostPart> lost;
    const absl::Status scanned = ScanOver(
        (*from)->db(), HandleOf(**from, range.family), range.smallest, end,
        [&](std::string_view key, std::string_view value) {
          status = rewriter.Put(key, value);
          return status.ok();
        },
        [&](const DamagedRange& part) {
          lost.push_back(
              {.family = range.family,
               .range = part,
               .from = part.after.empty() ? range.smallest : Behind(part.after),
               .to = part.before.empty() ? end : part.before,
               .why = absl::StrCat("lost with damaged file ", absl::StrJoin(range.files, ", "))});
        });
    if (!scanned.ok()) return scanned;
    for (const LostPart& part : lost) {
      if (status.ok()) status = PutNewer(**from, **into, part, before.snapshot(), rewriter);
    }
    if (status.ok()) status = rewriter.Finish();
    if (!status.ok()) return status;
    all.insert(all.end(), lost.begin(), lost.end());
  }
  return all;
}

absl::StatusOr<std::vector<LostPart>> TakeOutBodies(RocksDatabase& fresh,
                                                    const RowsWatcher& watch) {
  const auto instance = fresh.Use();
  if (!instance.ok()) return instance.status();
  rocksdb::DB& db = (*instance)->db();
  std::vector<std::string_view> families = {kCatalogName};
  for (size_t i = 0; i < kFamilies; ++i) families.push_back(FamilyName(static_cast<Family>(i)));
  std::vector<LostPart> all;
  uint64_t rows = 0;
  for (const std::string_view family : families) {
    rocksdb::ColumnFamilyHandle* const handle = HandleOf(**instance, family);
    rocksdb::ColumnFamilyMetaData files;
    db.GetColumnFamilyMetaData(handle, &files);
    if (files.blob_files.empty()) continue;
    std::vector<LostPart> lost;
    if (absl::Status read = FindLostBodies(db, handle, family, watch, &rows, &lost); !read.ok()) {
      return read;
    }
    if (lost.empty()) continue;
    rocksdb::WriteBatch gone;
    rocksdb::Status done;
    for (const LostPart& part : lost) {
      for (const std::string& key : part.keys) {
        if (done.ok()) done = gone.Delete(handle, key);
      }
    }
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    if (done.ok()) done = db.Write(unlogged, &gone);
    if (done.ok()) done = db.Flush({}, handle);
    if (!done.ok()) return FromRocks(done, "salvage", family);
    all.insert(all.end(), lost.begin(), lost.end());
  }
  return all;
}

absl::StatusOr<uint64_t> RoomFor(RocksDatabase& damaged,
                                 const std::vector<RewrittenRange>& ranges) {
  const auto instance = damaged.Use();
  if (!instance.ok()) return instance.status();
  uint64_t room = 0;
  for (const RewrittenRange& range : ranges) {
    rocksdb::ColumnFamilyMetaData files;
    (*instance)->db().GetColumnFamilyMetaData(HandleOf(**instance, range.family), &files);
    uint64_t tables = 0, in_range = 0, bodies = 0;
    for (const rocksdb::LevelMetaData& level : files.levels) {
      for (const rocksdb::SstFileMetaData& file : level.files) {
        tables += file.size;
        if (file.largestkey < range.smallest || file.smallestkey > range.largest) continue;
        in_range += file.size;
      }
    }
    for (const rocksdb::BlobMetaData& file : files.blob_files) bodies += file.blob_file_size;
    const double share = static_cast<double>(in_range) / std::max(1.0, static_cast<double>(tables));
    room += 2 * in_range + static_cast<uint64_t>(static_cast<double>(bodies) * share);
  }
  return room;
}

absl::Status Compact(RocksDatabase& database, const std::vector<RewrittenRange>& ranges) {
  const auto instance = database.Use();
  if (!instance.ok()) return instance.status();
  rocksdb::CompactRangeOptions whole;
  whole.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  for (const RewrittenRange& range : ranges) {
    const std::string behind = Behind(range.largest);
    const rocksdb::Slice begin(range.smallest), end(behind);
    const rocksdb::Status compacted =
        (*instance)->db().CompactRange(whole, HandleOf(**instance, range.family), &begin, &end);
    if (!compacted.ok()) return FromRocks(compacted, "compact", range.family);
  }
  return absl::OkStatus();
}

}  // namespace telltale::storage
