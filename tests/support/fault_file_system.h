// A RocksDB file system that fails on command: writes with an error or without space, a process
// that is killed in the middle of a certain operation, or a power cut that forgets whatever was not
// synced (disk_journal.h). Wraps the real one. Thread-safe.

#ifndef TELLTALE_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_
#define TELLTALE_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "tests/support/disk_journal.h"

namespace telltale::testing {

class FaultFileSystem : public rocksdb::FileSystemWrapper {
 public:
  enum class Fault { kNone, kIoError, kNoSpace };

  // `keep`: where the disk's journal is kept (DiskJournal); empty: no power cuts.
  explicit FaultFileSystem(const std::string& keep = "");
  const char* Name() const override { return "FaultFileSystem"; }

  // From now on every write, sync and new file fails so (kNone: works again).
  void set_fault(Fault fault) { fault_ = fault; }
  // Every n-th write or sync from now on fails once with an I/O error; 0: none.
  void set_fail_every(uint64_t n) {
    operations_ = 0;
    fail_every_ = n;
  }
  // This process is killed (SIGKILL) in the n-th operation from now on a file for which `at` holds
  // on the thread at work: before it, or half way through a write.
  using Where = std::function<bool(const std::string& name)>;
  void DieIn(uint64_t n, Where at);
  // Now, between two operations. `name`: of the file it would have been.
  [[noreturn]] void Die(const std::string& name = "");
  // Called right before, on the thread that was at work.
  void set_on_death(std::function<void(const std::string& name)> on_death) {
    on_death_ = std::move(on_death);
  }
  // How often a file (not a directory) was synced.
  uint64_t syncs() const { return syncs_; }
  // The power goes and comes back, with the database closed.
  void CutPower(uint64_t seed) { DiskJournal::CutPower(keep_, seed); }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

  // For its files: the fault that strikes this operation, or OK; and whether it is the one to die
  // in.
  rocksdb::IOStatus Check();
  bool DiesNow(const std::string& name);
  void NoteSynced(const std::string& name, uint64_t bytes);
  void NoteSyncedDirectory(const std::string& name);

 private:
  // A change of names and its note, which a kill does not tear apart.
  rocksdb::IOStatus Step(const std::string& name, const std::function<rocksdb::IOStatus()>& change);

  const std::string keep_;
  std::unique_ptr<DiskJournal> journal_;
  std::atomic<Fault> fault_{Fault::kNone};
  std::atomic<uint64_t> fail_every_{0};
  std::atomic<uint64_t> operations_{0};
  std::atomic<uint64_t> syncs_{0};
  std::atomic<uint64_t> dies_in_{0};
  std::function<void(const std::string& name)> on_death_;
  std::mutex die_mutex_;
  Where dies_at_;  // guarded by die_mutex_
  std::mutex step_mutex_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_
