#include "tests/support/crash_writer.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "tests/support/early_ack.h"
#include "tests/support/fault_file_system.h"

namespace telltale::testing {
namespace {

using storage::kDayNs;
using storage::kHourNs;
using storage::kSecondNs;

constexpr uint64_t kStart = 20'500 * kDayNs;
constexpr uint64_t kEvery = 2 * kHourNs;

uint64_t Mixed(uint64_t seed, uint64_t what) {
  uint64_t z = (seed + what * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// A thread has the name of what it is in the middle of, so that whoever dies on it can tell.
// RocksDB names its own.
constexpr char kOpening[] = "opening", kStoring[] = "storing", kRollingUp[] = "rolling up",
               kMaintaining[] = "maintaining", kBackingUp[] = "backing up";

std::string ThreadName() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

class InTheMiddleOf {
 public:
  explicit InTheMiddleOf(const char* step) : before_(ThreadName()) {
    pthread_setname_np(pthread_self(), step);
  }
  ~InTheMiddleOf() { pthread_setname_np(pthread_self(), before_.c_str()); }
  InTheMiddleOf(const InTheMiddleOf&) = delete;
  InTheMiddleOf& operator=(const InTheMiddleOf&) = delete;

 private:
  const std::string before_;
};

CrashFile FileOf(const std::string& name) {
  const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
  if (name.empty()) return CrashFile::kNone;
  if (has("/backup") || has("/scratch")) return CrashFile::kCopy;
  if (has(".log")) return CrashFile::kLog;
  if (has(".sst") || has(".blob")) return CrashFile::kTable;
  return has("MANIFEST") ? CrashFile::kManifest : CrashFile::kOther;
}

bool Anywhere(const std::string&) { return true; }

class Writer {
 public:
  Writer(const CrashWork& work, const DiskTrial& trial, int pipe)
      : work_(work), trial_(trial), pipe_(pipe), next_(work.next) {
    for (const uint64_t next : next_) Heard(next);
  }

  int Run() {
    files_->set_on_death([this](const std::string& name) {
      Tell({CrashReport::kDied, 0, 0, StepHere(), FileOf(name)});
    });
    if (trial_.during == CrashDuring::kOpening) files_->DieIn(1 + Pick(1, 60), Anywhere);
    if (!Open()) return 3;
    Arm();
    std::vector<std::thread> shards;
    for (uint32_t shard = 0; shard < 2; ++shard) {
      shards.emplace_back([this, shard] { Stream(shard); });
    }
    Beside();
    streaming_ = false;
    for (std::thread& shard : shards) shard.join();
    // The moment lay behind the end of the work: the end is a moment, too.
    files_->Die();
  }

 private:
  uint64_t Pick(uint64_t what, uint64_t below) const { return Mixed(trial_.seed, what) % below; }
  uint64_t Now() const { return now_ns_.load(); }
  void Heard(uint64_t sequence) {
    uint64_t now = now_ns_.load();
    const uint64_t then = CrashEpochStart(sequence) + 2 * kHourNs;
    while (then > now && !now_ns_.compare_exchange_weak(now, then)) {
    }
  }
  storage::SummaryStore& Summaries() {
    return early_.has_value() ? early_->summaries() : store_->summaries();
  }

  // Of the thread that asks.
  CrashStep StepHere() const {
    const std::string name = ThreadName();
    if (name == kOpening) return CrashStep::kOpening;
    if (name == kStoring) return CrashStep::kStoring;
    if (name == kRollingUp) return CrashStep::kRollingUp;
    if (name == kBackingUp) return CrashStep::kBackingUp;
    if (name.starts_with("rocksdb:high")) return CrashStep::kFlush;
    if (name.starts_with("rocksdb:low")) return CrashStep::kCompaction;
    if (name != kMaintaining) return CrashStep::kElsewhere;
    // Retention first raises the floor, then drops what lies below it.
    const bool expires = store_->summaries().RawFloor() > floor_before_;
    return expires ? CrashStep::kRetention : CrashStep::kLineBlocks;
  }

  bool Open() {
    const InTheMiddleOf step(kOpening);
    auto opened = OpenCrashStore(
        {.data = work_.dir + "/data", .env = env_.get(), .now_ns = [this] { return Now(); }});
    if (!opened.ok()) {
      std::fprintf(stderr, "crash writer: %s\n", opened.status().ToString().c_str());
      return false;
    }
    store_ = *std::move(opened);
    for (uint32_t node = 1; node <= kCrashNodes; ++node) {
      if (!store_->nodes().NumberOf(CrashNodeName(node)).ok()) return false;
    }
    if (!store_->summaries().PutSchema(1, proto::BuiltinSchema()).ok()) return false;
    Tell({CrashReport::kRawFloor, 0, store_->summaries().RawFloor()});
    if (trial_.ack_before_sync) early_.emplace(store_.get(), [this] { return Now(); });
    return true;
  }

  // Where and when it is to die.
  void Arm() {
    switch (trial_.during) {
      case CrashDuring::kOpening:
        return;  // is armed
      case CrashDuring::kFullDisk:
      case CrashDuring::kWriteErrors:
        return;  // once the fault has struck
      case CrashDuring::kStreaming:
        return files_->DieIn(1 + Pick(1, 200), Anywhere);
      case CrashDuring::kRollup:
        return DieInside(CrashStep::kRollingUp, 1 + Pick(1, 24));
      case CrashDuring::kRetention:
        // Some also before it has raised the floor.
        if (trial_.seed / kCrashKinds / 2 % 2 == 0)
          return DieInside(CrashStep::kRetention, 1 + Pick(1, 12));
        return files_->DieIn(1 + Pick(1, 24),
                             [](const std::string&) { return ThreadName() == kMaintaining; });
      case CrashDuring::kFlush:
        return DieInside(CrashStep::kFlush, 1 + Pick(1, 30));
      case CrashDuring::kCompaction:
        return DieInside(CrashStep::kCompaction, 1 + Pick(1, 30));
      case CrashDuring::kBackup:
        return DieInside(CrashStep::kBackingUp, 1 + Pick(1, 100));
    }
  }
  void DieInside(CrashStep step, uint64_t operation) {
    files_->DieIn(operation, [this, step](const std::string&) { return StepHere() == step; });
  }

  void Tell(const CrashReport& report) {
    if (write(pipe_, &report, sizeof report) != sizeof report) std::abort();
  }

  // The nodes of one shard, batch after batch, each epoch again until it is acknowledged.
  void Stream(uint32_t shard) {
    std::vector<uint32_t> nodes;
    for (uint32_t node = 1 + shard; node <= kCrashNodes; node += 2) nodes.push_back(node);
    for (uint64_t round = 0; round < 30 && InStep(shard, round); ++round) {
      std::vector<MadeSummary> made;
      std::vector<std::pair<uint32_t, uint64_t>> of;
      for (const uint32_t node : nodes) {
        for (uint64_t more = 1 + Pick(100 + round, 3); more > 0; --more) {
          const uint64_t sequence = next_[node - 1]++;
          Heard(sequence);
          if (CrashEpochKind(sequence) == CrashEpoch::kDeclaredLost) DeclareLost(node, sequence);
          if (CrashEpochKind(sequence) != CrashEpoch::kSent) continue;
          made.push_back(MakeCrashEpoch(node, sequence));
          of.emplace_back(node, sequence);
        }
      }
      std::vector<storage::Incoming> batch;
      for (size_t i = 0; i < made.size(); ++i) {
        batch.push_back({of[i].first, &made[i].summary, &made[i].body, true});
      }
      if (!PutUntilDone(batch)) return;
      for (const auto& [node, sequence] : of) Tell({CrashReport::kAcked, node, sequence});
      if (trial_.ack_before_sync) continue;
      Keep(nodes);
    }
  }
  // Time is everybody's: nobody gets so far ahead that the others' epochs expire.
  bool InStep(uint32_t shard, uint64_t round) {
    rounds_[shard] = round;
    while (streaming_ && rounds_[1 - shard] + 1 < round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return streaming_;
  }
  bool PutUntilDone(std::span<const storage::Incoming> batch) {
    const InTheMiddleOf step(kStoring);
    while (streaming_) {
      if (Summaries().PutBatch(batch).ok()) return true;
      Refused();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  void Refused() {
    Tell({CrashReport::kRefused});
    const bool faulty =
        trial_.during == CrashDuring::kFullDisk || trial_.during == CrashDuring::kWriteErrors;
    if (faulty && !struck_.exchange(true)) files_->DieIn(1 + Pick(1, 200), Anywhere);
  }
  void DeclareLost(uint32_t node, uint64_t sequence) {
    const storage::LostRange lost = {.first = sequence,
                                     .last = sequence,
                                     .reason = v1::Lost::SPOOL_FULL,
                                     .start_ns = CrashEpochStart(sequence),
                                     .end_ns = CrashEpochStart(sequence) + 60 * kSecondNs};
    const InTheMiddleOf step(kStoring);
    while (streaming_) {
      if (Summaries().DeclareLost(node, CrashIncarnation(node), lost).ok()) {
        return Tell({CrashReport::kLost, node, sequence});
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  // What a shard does when it has nothing more urgent to do. Errors are tried again next time.
  void Keep(const std::vector<uint32_t>& nodes) {
    const uint32_t most = trial_.during == CrashDuring::kRollup ? 50 : 3;
    store_->summaries().Prune(nodes, most).IgnoreError();
    const InTheMiddleOf step(kRollingUp);
    const auto computed = store_->roller().RunDue(nodes, Now(), most);
    if (computed.ok() && *computed > 0) Tell({CrashReport::kComputed, 0, *computed});
  }
  void Maintain() {
    floor_before_ = store_->summaries().RawFloor();
    const InTheMiddleOf step(kMaintaining);
    store_->Maintain().IgnoreError();
  }

  // Beside the shards, until the moment comes; bounded, if it never does.
  void Beside() {
    const auto pause = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    for (int round = 0; round < 12; ++round) {
      switch (trial_.during) {
        case CrashDuring::kFullDisk:
          pause(static_cast<int>(Pick(4, 30)));
          files_->set_fault(FaultFileSystem::Fault::kNoSpace);
          pause(10);
          files_->set_fault(FaultFileSystem::Fault::kNone);
          pause(20);
          break;
        case CrashDuring::kWriteErrors:
          pause(static_cast<int>(Pick(4, 30)));
          files_->set_fail_every(11 + Pick(3, 40));
          // Most of them strike what computes windows.
          pause(20);
          for (int ms = 0; ms < 500 && !struck_; ++ms) pause(1);
          files_->set_fail_every(0);
          pause(20);
          break;
        case CrashDuring::kFlush:
        case CrashDuring::kCompaction:
          // Each makes files of what was in memory; four of a family are merged.
          BackUp(work_.dir + "/scratch");
          Remove(work_.dir + "/scratch");
          break;
        case CrashDuring::kBackup:
          if (round == 0) {
            Tell({CrashReport::kBackupBegun});
            if (BackUp(work_.dir + "/backup")) Tell({CrashReport::kBackupDone});
          }
          pause(5);
          break;
        case CrashDuring::kRetention:
        case CrashDuring::kRollup:
          Maintain();
          pause(5);
          break;
        default:
          pause(10);
      }
    }
  }
  // By way of the disk, which must know of it.
  void Remove(const std::string& directory) {
    std::vector<std::string> names;
    if (!env_->GetChildren(directory, &names).ok()) return;
    for (const std::string& name : names) {
      const std::string path = directory + "/" + name;
      if (std::filesystem::is_directory(path)) {
        Remove(path);
      } else {
        env_->DeleteFile(path).PermitUncheckedError();
      }
    }
    env_->DeleteDir(directory).PermitUncheckedError();
  }
  bool BackUp(const std::string& to) {
    const InTheMiddleOf step(kBackingUp);
    return store_->BackUp(to, {}).ok();
  }

  const CrashWork& work_;
  const DiskTrial& trial_;
  const int pipe_;
  std::array<uint64_t, kCrashNodes> next_;  // each only used by its shard
  std::atomic<uint64_t> now_ns_{0};
  std::atomic<bool> streaming_{true};
  std::atomic<bool> struck_{false};  // the fault, a batch
  std::array<std::atomic<uint64_t>, 2> rounds_ = {};
  uint16_t floor_before_ = 0;  // when Maintain began; only of the thread that maintains
  std::shared_ptr<FaultFileSystem> files_ = std::make_shared<FaultFileSystem>(work_.dir + "/keep");
  std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(files_);
  std::unique_ptr<storage::Store> store_;
  std::optional<EarlyAckStore> early_;
};

}  // namespace

uint64_t CrashEpochStart(uint64_t sequence) { return kStart + sequence * kEvery; }

CrashEpoch CrashEpochKind(uint64_t sequence) {
  if (sequence % 17 == 5) return CrashEpoch::kNever;
  return sequence % 23 == 7 ? CrashEpoch::kDeclaredLost : CrashEpoch::kSent;
}

std::string CrashNodeName(uint32_t node) { return absl::StrCat("node-", node); }

MadeSummary MakeCrashEpoch(uint32_t node, uint64_t sequence) {
  return SyntheticNode(CrashNodeName(node), node).Make(sequence, CrashEpochStart(sequence));
}

storage::Incarnation CrashIncarnation(uint32_t node) {
  return SyntheticNode(CrashNodeName(node), node).incarnation();
}

absl::StatusOr<std::unique_ptr<storage::Store>> OpenCrashStore(const CrashStore& crash) {
  storage::StoreOptions options;
  options.path = crash.data + "/store";
  options.env = crash.env;
  options.now_ns = crash.now_ns;
  options.read_only = crash.read_only;
  options.memory_bytes = 16 << 20;
  options.min_free_bytes = 0;
  options.retention = {
      .raw_days = 1, .cells_hours = 24, .five_minute_days = 2, .hour_days = 3, .day_days = 4};
  return storage::Store::Open(options);
}

int RunCrashWriter(const CrashWork& work, const DiskTrial& trial, int pipe) {
  return Writer(work, trial, pipe).Run();
}

}  // namespace telltale::testing
