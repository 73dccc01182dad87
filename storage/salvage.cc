#include "storage/salvage.h"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "rocksdb/env.h"
#include "storage/backup.h"
#include "storage/catalog_damage.h"
#include "storage/data_directory.h"
#include "storage/verify_damage.h"

namespace telltale::storage {
namespace {

namespace fs = std::filesystem;

constexpr char kUnchanged[] = "; nothing was changed";
constexpr uint64_t kLogBytes = 64 << 20;  // for logs, marks and what says what was lost

absl::Status FromError(const std::error_code& error, std::string_view step,
                       const std::string& object) {
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("salvage: ", std::string(step), " ", object, ": ", error.message()));
}

absl::Status Unchanged(const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(std::string(status.message()), kUnchanged));
}

// The directory a copy of the store is worked on in. Gone with this object unless it was kept.
class Workshop {
 public:
  explicit Workshop(const std::string& data) : path_(data + "/salvage.part") {}
  ~Workshop() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  // What one that was stopped left behind is no store: this one became none.
  absl::Status Begin() {
    std::error_code error;
    fs::remove_all(path_, error);
    return FromError(error, "clear away", path_);
  }
  const std::string& path() const { return path_; }
  std::string store() const { return path_ + "/store"; }
  std::string rocks() const { return store() + "/rocks"; }

  absl::Status KeepAs(const std::string& name) {
    std::error_code error;
    fs::rename(path_, name, error);
    if (!error) path_.clear();
    return FromError(error, "rename to", name);
  }

 private:
  std::string path_;
};

// A name that says when, not there yet.
std::string AsideOf(const std::string& data, uint64_t now_ns) {
  const std::string moment = absl::FormatTime(
      "%Y%m%dT%H%M%SZ", absl::FromUnixSeconds(static_cast<int64_t>(now_ns / kSecondNs)),
      absl::UTCTimeZone());
  std::string name = absl::StrCat(data, "/damaged-", moment);
  for (int again = 2; fs::exists(name); ++again) {
    name = absl::StrCat(data, "/damaged-", moment, "-", again);
  }
  return name;
}

class Salvager {
 public:
  explicit Salvager(const SalvageOptions& options)
      : options_(options),
        store_(options.data + "/store"),
        now_ns_(options.now_ns ? options.now_ns()
                               : static_cast<uint64_t>(absl::GetCurrentTimeNanos())),
        work_(options.data) {}

  absl::StatusOr<SalvageReport> Run() {
    absl::Status done = Hold();
    if (done.ok()) done = Judge();
    if (done.ok() && !ranges_.empty()) done = CheckRoom();
    if (done.ok()) done = Rewrite();
    if (!done.ok()) return Unchanged(done);
    if (report_.families.empty()) return std::move(report_);
    done = Tell();
    if (done.ok()) done = Prove();
    if (!done.ok()) return Unchanged(done);
    done = Replace();
    if (!done.ok()) return done;
    return std::move(report_);
  }

 private:
  absl::Status Step(std::string_view step, uint64_t rows) const {
    if (!options_.watch || options_.watch(step, rows)) return absl::OkStatus();
    return absl::CancelledError(absl::StrCat("salvage: stopped at ", std::string(step)));
  }
  absl::StatusOr<std::unique_ptr<RocksDatabase>> OpenFiles(const std::string& store,
                                                           bool read_only) const {
    return RocksDatabase::Open({.path = store + "/rocks",
                                .memory_bytes = options_.memory_bytes,
                                .read_only = read_only,
                                .compacts = false});
  }
  StoreOptions CopyOptions(bool read_only) const {
    StoreOptions options;
    options.path = work_.store();
    options.now_ns = [now_ns = now_ns_] { return now_ns; };
    options.memory_bytes = options_.memory_bytes;
    options.read_only = read_only;
    return options;
  }

  absl::Status Hold() {
    absl::StatusOr<DirectoryHold> held = DirectoryHold::Take(rocksdb::Env::Default(), store_);
    if (!held.ok()) return held.status();
    hold_.emplace(*std::move(held));
    absl::Status begun = work_.Begin();
    if (begun.ok()) begun = Step("copy", 0);
    if (!begun.ok()) return begun;
    return LinkHeld(*hold_, options_.data, work_.path(), {}).status();
  }

  // An error about the copy, which nobody will find.
  absl::Status OfTheStore(const absl::Status& status) const {
    return absl::Status(status.code(), absl::StrReplaceAll(std::string(status.message()),
                                                           {{work_.store(), store_}}));
  }

  // Whether what is lost may be done without: as a start over the damage would.
  absl::Status Judge() {
    {
      const auto store = Store::Open(CopyOptions(/*read_only=*/true));
      const absl::Status needed = store.ok() ? ReadNeeded((*store)->catalog()) : store.status();
      if (!needed.ok()) return OfTheStore(needed);
    }
    auto damaged = OpenFiles(store_, /*read_only=*/true);
    if (!damaged.ok()) return damaged.status();
    damaged_ = *std::move(damaged);
    if (absl::Status step = Step("checksums", 0); !step.ok()) return step;
    absl::StatusOr<std::vector<DamagedFile>> files = FindDamaged(*damaged_);
    if (!files.ok()) return files.status();
    report_.files = *std::move(files);
    ranges_ = RangesOf(report_.files);
    return absl::OkStatus();
  }

  // Before hours of writing end at a full disk.
  absl::Status CheckRoom() const {
    const absl::StatusOr<uint64_t> rows = RoomFor(*damaged_, ranges_);
    if (!rows.ok()) return rows.status();
    const uint64_t want = *rows + kLogBytes;
    uint64_t free = 0;
    if (options_.free_bytes) {
      free = options_.free_bytes();
    } else if (!rocksdb::Env::Default()->GetFreeSpace(options_.data, &free).ok()) {
      return absl::OkStatus();  // the disk itself will tell
    }
    if (free >= want) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        "salvage: ", free >> 20, " MiB free on the file system of ", options_.data, ", want about ",
        (want >> 20) + 1, " MiB for the rows of ", report_.files.size(),
        " damaged files, which are written anew; free space there, or copy ", options_.data,
        " to a larger file system and salvage the copy with --data"));
  }

  absl::Status Rewrite() {
    absl::Status done = TakeOut(work_.rocks(), report_.files);
    if (!done.ok()) return done;
    const auto fresh = OpenFiles(work_.store(), /*read_only=*/false);
    if (!fresh.ok()) return fresh.status();
    auto lost = WriteAnew(*damaged_, **fresh, ranges_, [this](uint64_t rows) {
      return !options_.watch || options_.watch("write anew", rows);
    });
    if (!lost.ok()) return lost.status();
    lost_ = *std::move(lost);
    auto bodies = TakeOutBodies(**fresh, [this](uint64_t rows) {
      return !options_.watch || options_.watch("read bodies", rows);
    });
    if (!bodies.ok()) return bodies.status();
    for (LostPart& part : *bodies) {
      report_.bodies += part.keys.size();
      lost_.push_back(std::move(part));
    }
    for (const DamagedFile& file : report_.files) report_.families.insert(file.family);
    for (const LostPart& part : lost_) report_.families.insert(part.family);
    for (LostPart& part : lost_) absl::StrAppend(&part.why, ", salvaged ", Moment(now_ns_));
    return absl::OkStatus();
  }

  absl::Status Tell() {
    const auto store = Store::Open(CopyOptions(/*read_only=*/false));
    if (!store.ok()) return store.status();
    const auto name = [&](uint32_t node) {
      const auto record = (*store)->reader().Node(node);
      return record.has_value() ? record->name() : absl::StrCat("number ", node);
    };
    for (const LostPart& part : lost_) {
      report_.lost.push_back({DamagePlace(part.family, part.range, name), DamageText(part.range)});
    }
    absl::StatusOr<ToldLosses> told = TellLosses(**store, lost_);
    if (!told.ok()) return told.status();
    report_.told = *told;
    if (!options_.record) return absl::OkStatus();
    return options_.record((*store)->catalog(), report_);
  }

  // That nothing is damaged any more and RocksDB can rewrite what it could not.
  absl::Status Prove() {
    if (absl::Status step = Step("compact", 0); !step.ok()) return step;
    const auto fresh = OpenFiles(work_.store(), /*read_only=*/false);
    if (!fresh.ok()) return fresh.status();
    if (absl::Status compacted = Compact(**fresh, ranges_); !compacted.ok()) return compacted;
    const auto files = FindDamaged(**fresh);
    if (!files.ok()) return files.status();
    if (files->empty()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("salvage: ", files->front().name,
                                            ", just written, is damaged: ", files->front().fault,
                                            "; the disk or the memory of this machine is bad"));
  }

  // The store is the copy, the damaged files lie aside, the rest of the old store is gone.
  absl::Status Replace() {
    damaged_.reset();
    rocksdb::Env* const env = rocksdb::Env::Default();
    absl::Status done = GiveToOwnerOf("salvage", store_, work_.path());
    if (done.ok()) done = SyncDirectory(env, work_.rocks());
    if (!done.ok()) return Unchanged(done);
    report_.aside = AsideOf(options_.data, now_ns_);
    done = work_.KeepAs(report_.aside);
    if (!done.ok()) return Unchanged(done);
    const std::string other = report_.aside + "/store";
    if (renameat2(AT_FDCWD, other.c_str(), AT_FDCWD, store_.c_str(), RENAME_EXCHANGE) != 0) {
      const std::error_code error(errno, std::generic_category());
      std::error_code ignored;
      fs::remove_all(report_.aside, ignored);
      return Unchanged(FromError(error, "put in the place of", store_));
    }
    done = SyncDirectory(env, options_.data);
    if (!done.ok()) return done;
    std::error_code error;
    for (const DamagedFile& file : report_.files) {
      if (error) break;
      fs::rename(other + "/rocks/" + file.name, report_.aside + "/" + file.name, error);
    }
    if (!error) fs::remove_all(other, error);
    if (!error && report_.files.empty()) {  // there is nothing to keep
      fs::remove(report_.aside, error);
      report_.aside.clear();
    }
    return FromError(error, "the store is salvaged, but not cleared away is", other);
  }

  const SalvageOptions& options_;
  const std::string store_;
  const uint64_t now_ns_;
  std::optional<DirectoryHold> hold_;
  Workshop work_;
  std::unique_ptr<RocksDatabase> damaged_;
  std::vector<RewrittenRange> ranges_;
  std::vector<LostPart> lost_;
  SalvageReport report_;
};

}  // namespace

absl::StatusOr<SalvageReport> Salvage(const SalvageOptions& options) {
  return Salvager(options).Run();
}

}  // namespace telltale::storage
