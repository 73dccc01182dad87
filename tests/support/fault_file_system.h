// A RocksDB file system that fails on command: writes with an error or without space, or a power
// cut that forgets whatever was not synced. Wraps the real one. Thread-safe.

#ifndef TELLTALE_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_
#define TELLTALE_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace telltale::testing {

class FaultFileSystem : public rocksdb::FileSystemWrapper {
 public:
  enum class Fault { kNone, kIoError, kNoSpace };

  FaultFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultFileSystem"; }

  // From now on every write, sync and new file fails so (kNone: works again).
  void set_fault(Fault fault) { fault_ = fault; }
  // Every n-th write or sync fails once with an I/O error; 0: none.
  void set_fail_every(uint64_t n) { fail_every_ = n; }
  // Cuts every file written through here back to what was synced. Call with the database closed.
  void ForgetUnsynced();

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

  rocksdb::IOStatus Check();  // the fault that strikes this operation, or OK
  void NoteSynced(const std::string& name, uint64_t bytes);

 private:
  std::atomic<Fault> fault_{Fault::kNone};
  std::atomic<uint64_t> fail_every_{0};
  std::atomic<uint64_t> operations_{0};
  std::mutex mutex_;
  std::map<std::string, uint64_t> synced_;  // guarded by mutex_: path -> bytes that survive
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_FAULT_FILE_SYSTEM_H_
