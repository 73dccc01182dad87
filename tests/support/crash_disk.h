// Storage that crashes: one data directory, several nodes' agents, and trial after trial in which a
// child process that stores their epochs is killed in the middle of something, loses its disk's
// unsynced data as well, or has a disk that is full or fails. After each the directory is opened
// again, the agents send what was not acknowledged, and everything is checked: nothing acknowledged
// is lost, nothing counts twice, every gap is in the ledger, every tier is what its source adds up
// to. The parent never opens a store; writers and checkers are children of their own. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_CRASH_DISK_H_
#define TELLTALE_TESTS_SUPPORT_CRASH_DISK_H_

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "tests/support/crash_writer.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {

// What trials came to, so far.
struct CrashTally {
  uint64_t trials = 0;
  uint64_t power_cuts = 0;
  uint64_t acked = 0;
  uint64_t stored_before = 0;  // of acked: crashed between their writing and their acknowledgement
  uint64_t declared_lost = 0;
  uint64_t missing = 0;   // neither came nor were declared lost
  uint64_t computed = 0;  // windows, by the writers that crashed
  uint64_t refused = 0;   // batches, by a disk that was full or failed
  uint64_t expired = 0;   // days of raw
  uint64_t backups = 0;   // whole ones, which were checked, too
  // By the last check of a directory, of all that was ever stored in it:
  uint64_t found = 0;    // of acked
  uint64_t counted = 0;  // epochs, by the nodes' counters
  // Of those lost and missing, by any check: the ledger had them as what they are.
  uint64_t explained = 0;
  // Where the writers died.
  std::array<std::array<uint64_t, kCrashFiles>, kCrashSteps> deaths = {};

  uint64_t DeathsIn(CrashStep step) const;
  uint64_t DeathsIn(CrashFile file) const;
  void Add(const CrashTally& other);
  CrashTally Since(const CrashTally& before) const;
};
const char* NameOf(CrashStep step);
const char* NameOf(CrashFile file);

class CrashDisk {
 public:
  CrashDisk();

  // Empty: all is well; else what is not. After something was wrong the directory is of no use.
  std::string Run(const DiskTrial& trial);

  CrashTally tally() const;

  struct Agent {
    std::set<uint64_t> acked;
    std::set<uint64_t> lost;       // declared, and that was acknowledged
    std::set<uint64_t> explained;  // lost or missing, and a check found it so in the ledger
    uint64_t next = 1;             // the first that is not acknowledged
    uint64_t cpu_weight = 0;       // sum over the acknowledged ones
    std::set<uint64_t> backed;     // acknowledged when the last backup began
  };

 private:
  // Runs it in a child and takes in what it reports; how it ended, as by waitpid.
  int InChild(const std::function<int(int pipe)>& body);
  void Take(const CrashReport& report);

  TempDir dir_;
  std::array<Agent, kCrashNodes> agents_;
  bool backup_done_ = false;
  uint64_t raw_floor_ = 0;  // 0: nobody said yet
  CrashTally tally_;        // without what the agents know
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_CRASH_DISK_H_
