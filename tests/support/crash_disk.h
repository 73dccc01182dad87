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

class CrashDisk {
 public:
  CrashDisk();

  // Empty: all is well; else what is not. After something was wrong the directory is of no use.
  std::string Run(const DiskTrial& trial);

  uint64_t acked() const;                        // epochs acknowledged so far
  uint64_t backups() const { return backups_; }  // whole ones, which were checked, too
  const char* died_in() const;                   // what the last writer was doing

  struct Agent {
    std::set<uint64_t> acked;
    std::set<uint64_t> lost;    // declared, and that was acknowledged
    uint64_t next = 1;          // the first that is not acknowledged
    uint64_t cpu_weight = 0;    // sum over the acknowledged ones
    std::set<uint64_t> backed;  // acknowledged when the last backup began
  };

 private:
  // Runs it in a child and takes in what it reports; how it ended, as by waitpid.
  int InChild(const std::function<int(int pipe)>& body);
  void Take(const CrashReport& report);

  TempDir dir_;
  std::array<Agent, kCrashNodes> agents_;
  bool backup_done_ = false;
  CrashReport::Death death_ = CrashReport::kAtTheEnd;
  uint64_t backups_ = 0;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_CRASH_DISK_H_
