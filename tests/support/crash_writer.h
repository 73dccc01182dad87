// The child of a crash trial on a disk: stores the epochs of several agents on two threads, as the
// collector's shards do, while something else goes on, until it is killed. What it was acknowledged
// it reports through a pipe. Makes threads: only in a child of its own.

#ifndef TELLTALE_TESTS_SUPPORT_CRASH_WRITER_H_
#define TELLTALE_TESTS_SUPPORT_CRASH_WRITER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rocksdb/env.h"
#include "storage/store.h"
#include "tests/support/synthetic_node.h"

namespace telltale::testing {

// What goes on while epochs stream in.
enum class CrashDuring {
  kOpening,  // and recovery from the crash before
  kStreaming,
  kRollup,
  kRetention,
  kFlush,  // of what is in memory to a file of its own
  kCompaction,
  kBackup,
  kFullDisk,
  kWriteErrors,
};
inline constexpr int kCrashKinds = 9;

inline constexpr uint32_t kCrashNodes = 3;

struct DiskTrial {
  CrashDuring during = CrashDuring::kStreaming;
  uint64_t seed = 1;             // of the moment, and of what a power cut leaves
  bool power_cut = false;        // else only the process is killed
  bool ack_before_sync = false;  // a planted bug
};

// What a thread of the writer is in the middle of.
enum class CrashStep : uint32_t {
  kElsewhere,
  kOpening,     // the store, with recovery
  kStoring,     // epochs and declared losses, before their acknowledgement
  kRollingUp,   // RunDue
  kLineBlocks,  // Maintain, before anything expires
  kRetention,   // Maintain: days are expired and on their way out
  kBackingUp,
  kFlush,  // RocksDB's own threads
  kCompaction,
};
inline constexpr int kCrashSteps = 9;
// And which file it was about to change.
enum class CrashFile : uint32_t { kNone, kLog, kTable, kManifest, kCopy, kOther };
inline constexpr int kCrashFiles = 6;

struct CrashReport {
  enum Kind : uint32_t {
    kAcked,
    kStoredBefore,  // acknowledged now, and a crash came between its writing and this
    kLost,
    kBackupBegun,
    kBackupDone,
    kComputed,   // windows
    kRefused,    // a batch: the disk was full or failed
    kRawFloor,   // a day: what is older has expired
    kFound,      // by a check: acknowledged epochs
    kCounted,    // epochs that counters have
    kExplained,  // one that never came, which the ledger has as what it is
    kDied,
  };
  Kind kind = kAcked;
  uint32_t node = 0;
  uint64_t number = 0;                     // sequence, day, or how many
  CrashStep step = CrashStep::kElsewhere;  // of kDied
  CrashFile file = CrashFile::kNone;
};

struct CrashWork {
  std::string dir;  // data/ with the store, keep/ with the disk's journal, backup/
  std::array<uint64_t, kCrashNodes> next = {};  // first sequence of each node
};

// When an epoch begins: two hours after the one before.
uint64_t CrashEpochStart(uint64_t sequence);
// Some never come; of these the agents declare some lost and are silent about the others.
enum class CrashEpoch { kSent, kNever, kDeclaredLost };
CrashEpoch CrashEpochKind(uint64_t sequence);
MadeSummary MakeCrashEpoch(uint32_t node, uint64_t sequence);
std::string CrashNodeName(uint32_t node);  // from 1
storage::Incarnation CrashIncarnation(uint32_t node);

struct CrashStore {
  std::string data;
  rocksdb::Env* env = nullptr;
  std::function<uint64_t()> now_ns;
  bool read_only = false;
};
absl::StatusOr<std::unique_ptr<storage::Store>> OpenCrashStore(const CrashStore& options);

// Ends by its own kill -9; returns only when it could not do what it was to do.
int RunCrashWriter(const CrashWork& work, const DiskTrial& trial, int pipe);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_CRASH_WRITER_H_
