#include "storage/backup.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rocksdb/env.h"
#include "rocksdb/metadata.h"
#include "storage/data_directory.h"
#include "storage/rocks_database.h"

namespace telltale::storage {
namespace {

constexpr size_t kBlockBytes = 1 << 20;

struct Part {
  std::string name;  // in rocks/
  std::string from;  // path; empty: `content`
  std::string content;
  uint64_t bytes = 0;
  bool may_link = false;  // never written to again
};

// The directory a copy grows in. Gone with this object unless finished.
class Growing {
 public:
  Growing(rocksdb::Env* env, std::string data)
      : env_(env), data_(std::move(data)), part_(data_ + "/store.part") {}
  ~Growing() {
    if (begun_) Clear().IgnoreError();
  }

  // Only an empty directory, or one where a copy was given up.
  absl::Status Begin(const char* step) {
    std::vector<std::string> there;
    const rocksdb::Status listed = env_->GetChildren(data_, &there);
    if (!listed.ok() && !listed.IsNotFound()) return FromRocks(listed, step, data_);
    for (const std::string& name : there) {
      if (name == "." || name == ".." || name == "store.part") continue;
      return absl::FailedPreconditionError(
          absl::StrCat(step, " ", data_, ": has ", name, " in it, want an empty directory"));
    }
    return Make(step);
  }
  absl::Status Make(const char* step) {
    absl::Status cleared = Clear();
    if (!cleared.ok()) return cleared;
    const std::string parent = ParentOf(data_);
    if (!env_->FileExists(parent).ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(step, " ", data_, ": there is no directory ", parent,
                       "; create it, or choose a directory that is there"));
    }
    begun_ = true;
    for (const std::string& path : {data_, part_, rocks()}) {
      const rocksdb::Status made = env_->CreateDirIfMissing(path);
      if (!made.ok()) return FromRocks(made, step, path);
    }
    return absl::OkStatus();
  }
  std::string part() const { return part_; }
  std::string rocks() const { return part_ + "/rocks"; }

  // Durable, and only then under its name.
  absl::Status Finish() {
    absl::Status done = SyncDirectory(env_, rocks());
    if (done.ok()) done = WriteFormat(env_, part_);
    if (done.ok()) {
      done = FromRocks(env_->RenameFile(part_, data_ + "/store"), "rename", part_);
    }
    if (!done.ok()) return done;
    begun_ = false;
    done = SyncDirectory(env_, data_);
    return done.ok() ? SyncParent(env_, data_) : done;
  }

 private:
  absl::Status Clear() {
    for (const std::string& directory : {rocks(), part_}) {
      std::vector<std::string> names;
      if (!env_->GetChildren(directory, &names).ok()) continue;
      for (const std::string& name : names) {
        if (name == "." || name == ".." || name == "rocks") continue;
        const rocksdb::Status gone = env_->DeleteFile(directory + "/" + name);
        if (!gone.ok()) return FromRocks(gone, "clear away", directory + "/" + name);
      }
      const rocksdb::Status gone = env_->DeleteDir(directory);
      if (!gone.ok()) return FromRocks(gone, "clear away", directory);
    }
    return absl::OkStatus();
  }

  rocksdb::Env* const env_;
  const std::string data_;
  const std::string part_;
  bool begun_ = false;
};

class Copier {
 public:
  Copier(rocksdb::Env* env, const std::vector<Part>& parts, const CopyWatcher& watch)
      : env_(env), watch_(watch) {
    for (const Part& part : parts) total_ += part.bytes;
  }

  absl::Status Copy(const Part& part, const std::string& to) {
    ++result_.files;
    if (part.from.empty()) {
      return Counted(
          FromRocks(rocksdb::WriteStringToFile(env_, part.content, to, true), "write", to),
          part.bytes);
    }
    // Where links are not possible (another file system) the bytes are copied.
    if (part.may_link && env_->LinkFile(part.from, to).ok()) {
      result_.linked_bytes += part.bytes;
      return Counted(absl::OkStatus(), part.bytes);
    }
    std::unique_ptr<rocksdb::SequentialFile> source;
    std::unique_ptr<rocksdb::WritableFile> target;
    rocksdb::Status status = env_->NewSequentialFile(part.from, &source, rocksdb::EnvOptions());
    if (!status.ok()) return FromRocks(status, "read", part.from);
    status = env_->NewWritableFile(to, &target, rocksdb::EnvOptions());
    if (!status.ok()) return FromRocks(status, "write", to);
    const auto buffer = std::make_unique<char[]>(kBlockBytes);
    uint64_t left = part.bytes;
    while (left > 0) {
      rocksdb::Slice block;
      status = source->Read(std::min<uint64_t>(left, kBlockBytes), &block, buffer.get());
      if (!status.ok()) return FromRocks(status, "read", part.from);
      if (block.empty()) {
        return absl::DataLossError(
            absl::StrCat("read ", part.from, ": ends ", left, " bytes before its length"));
      }
      status = target->Append(block);
      if (!status.ok()) return FromRocks(status, "write", to);
      left -= block.size();
      if (absl::Status counted = Counted(absl::OkStatus(), block.size()); !counted.ok()) {
        return counted;
      }
    }
    status = target->Sync();
    if (status.ok()) status = target->Close();
    return FromRocks(status, "write", to);
  }
  CopyResult result() const { return result_; }

 private:
  absl::Status Counted(absl::Status status, uint64_t bytes) {
    if (!status.ok()) return status;
    result_.bytes += bytes;
    if (!watch_ || watch_(result_.bytes, total_)) return absl::OkStatus();
    return absl::CancelledError(
        absl::StrCat("copy store: stopped after ", result_.bytes, " of ", total_, " bytes"));
  }

  rocksdb::Env* const env_;
  const CopyWatcher& watch_;
  uint64_t total_ = 0;
  CopyResult result_;
};

absl::StatusOr<CopyResult> CopyAll(rocksdb::Env* env, const std::vector<Part>& parts,
                                   const std::string& rocks, const CopyWatcher& watch) {
  Copier copier(env, parts, watch);
  for (const Part& part : parts) {
    absl::Status copied = copier.Copy(part, rocks + "/" + part.name);
    if (!copied.ok()) return copied;
  }
  return copier.result();
}

// Files stay while this lives, even those compaction is done with.
class KeepFiles {
 public:
  explicit KeepFiles(rocksdb::DB& db) : db_(db), status_(db.DisableFileDeletions()) {}
  ~KeepFiles() { db_.EnableFileDeletions(/*force=*/false).PermitUncheckedError(); }
  const rocksdb::Status& status() const { return status_; }

 private:
  rocksdb::DB& db_;
  const rocksdb::Status status_;
};

// Every file of a store nobody writes to. `link`: those that are never written to again may share
// their place with the copy.
absl::StatusOr<std::vector<Part>> PartsOf(rocksdb::Env* env, const std::string& store, bool link) {
  std::vector<std::string> names;
  const std::string rocks = store + "/rocks";
  const rocksdb::Status listed = env->GetChildren(rocks, &names);
  if (!listed.ok()) return FromRocks(listed, "read", rocks);
  std::vector<Part> parts;
  for (const std::string& name : names) {
    if (name == "." || name == ".." || name == "LOCK" || absl::StartsWith(name, "LOG")) continue;
    Part part{.name = name, .from = rocks + "/" + name};
    part.may_link = link && (absl::EndsWith(name, ".sst") || absl::EndsWith(name, ".blob"));
    const rocksdb::Status sized = env->GetFileSize(part.from, &part.bytes);
    if (!sized.ok()) return FromRocks(sized, "read", part.from);
    parts.push_back(std::move(part));
  }
  return parts;
}

// Whether a store is of the format this program copies.
absl::Status CheckFormat(rocksdb::Env* env, const char* step, const std::string& store) {
  const absl::StatusOr<int> format = ReadFormat(env, store);
  if (!format.ok()) return format.status();
  if (*format != kFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat(step, " ", store, ": is of format ", *format, ", this program copies ",
                     kFormat, "; start a collector on it once, which upgrades it"));
  }
  return absl::OkStatus();
}

// Copies a store that nobody uses, and opens the copy to see that all of it is there.
absl::StatusOr<CopyResult> CopyWhole(rocksdb::Env* env, const char* step, const std::string& store,
                                     const std::string& to_data, bool into_empty, bool link,
                                     const CopyWatcher& watch) {
  const auto parts = PartsOf(env, store, link);
  if (!parts.ok()) return parts.status();
  Growing growing(env, to_data);
  const absl::Status begun = into_empty ? growing.Begin(step) : growing.Make(step);
  if (!begun.ok()) return begun;
  auto copied = CopyAll(env, *parts, growing.rocks(), watch);
  if (!copied.ok()) return copied;
  auto opened = RocksDatabase::Open({.path = growing.rocks(), .env = env, .read_only = true});
  if (!opened.ok()) return opened.status();
  opened->reset();
  absl::Status finished = growing.Finish();
  if (!finished.ok()) return finished;
  return copied;
}

absl::StatusOr<CopyResult> CopyStopped(rocksdb::Env* env, const char* step,
                                       const std::string& store, const std::string& to_data,
                                       bool into_empty, const CopyWatcher& watch) {
  if (env == nullptr) env = rocksdb::Env::Default();
  const absl::Status format = CheckFormat(env, step, store);
  if (!format.ok()) return format;
  const absl::StatusOr<DirectoryHold> hold = DirectoryHold::Take(env, store);
  if (!hold.ok()) return hold.status();
  return CopyWhole(env, step, store, to_data, into_empty, /*link=*/false, watch);
}

}  // namespace

absl::StatusOr<CopyResult> BackUp(RocksDatabase& database, rocksdb::Env* env,
                                  const std::string& to_data, const CopyWatcher& watch) {
  auto instance = database.Use();
  if (!instance.ok()) return instance.status();
  const KeepFiles keep((*instance)->db());
  if (!keep.status().ok()) return FromRocks(keep.status(), "back up to", to_data);
  std::vector<rocksdb::LiveFileStorageInfo> live;
  const rocksdb::Status listed = (*instance)->db().GetLiveFilesStorageInfo({}, &live);
  if (!listed.ok()) return FromRocks(listed, "back up to", to_data);
  std::vector<Part> parts;
  for (const rocksdb::LiveFileStorageInfo& file : live) {
    Part part{.name = file.relative_filename, .bytes = file.size};
    if (file.replacement_contents.empty()) {
      part.from = file.directory + "/" + file.relative_filename;
    } else {
      part.content = file.replacement_contents;
    }
    part.may_link = !file.trim_to_size &&
                    (file.file_type == rocksdb::kTableFile || file.file_type == rocksdb::kBlobFile);
    parts.push_back(std::move(part));
  }
  Growing growing(env, to_data);
  absl::Status status = growing.Begin("back up to");
  if (!status.ok()) return status;
  auto copied = CopyAll(env, parts, growing.rocks(), watch);
  if (!copied.ok()) return copied;
  status = growing.Finish();
  if (!status.ok()) return status;
  return copied;
}

absl::StatusOr<CopyResult> BackUpStopped(rocksdb::Env* env, const std::string& from_data,
                                         const std::string& to_data, const CopyWatcher& watch) {
  return CopyStopped(env, "back up", from_data + "/store", to_data, /*into_empty=*/true, watch);
}

absl::StatusOr<CopyResult> LinkHeld(const DirectoryHold&, const std::string& from_data,
                                    const std::string& to_data, const CopyWatcher& watch) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  const std::string store = from_data + "/store";
  const absl::Status format = CheckFormat(env, "copy", store);
  if (!format.ok()) return format;
  return CopyWhole(env, "copy", store, to_data, /*into_empty=*/true, /*link=*/true, watch);
}

absl::StatusOr<CopyResult> Restore(rocksdb::Env* env, const std::string& from_data,
                                   const std::string& to_data, const CopyWatcher& watch) {
  if (env == nullptr) env = rocksdb::Env::Default();
  const std::string store = to_data + "/store";
  if (env->FileExists(store).ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("restore to ", to_data, ": there is a store already, want none; move ", store,
                     " away or choose another directory with --data"));
  }
  auto copied =
      CopyStopped(env, "restore", from_data + "/store", to_data, /*into_empty=*/false, watch);
  if (!copied.ok()) return copied;
  const absl::Status given = GiveToOwnerOf("restore", to_data, store);
  if (!given.ok()) return given;
  return copied;
}

}  // namespace telltale::storage
