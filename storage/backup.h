// Copies of a whole store. A backup is a data directory: DIR/store/{VERSION,rocks}, as of one
// moment, which verify reads and a collector could open. It is made of a store that is running
// (nothing waits for it but the deletion of files) and appears under its name only when it is whole
// and durable; what a killed one leaves is called store.part and is cleared away by the next. Free
// functions; any thread.
//
// No `env` is the real file system.

#ifndef TELLTALE_STORAGE_BACKUP_H_
#define TELLTALE_STORAGE_BACKUP_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rocksdb {
class Env;
}

namespace telltale::storage {

class RocksDatabase;

// Told every so often; false: stop (the copy ends with Cancelled and leaves no backup).
using CopyWatcher = std::function<bool(uint64_t done_bytes, uint64_t total_bytes)>;

struct CopyResult {
  uint64_t files = 0;
  uint64_t bytes = 0;
  // Of them, those that share their place on disk with the original (hard links on one file
  // system).
  uint64_t linked_bytes = 0;
};

// FailedPrecondition: `to_data` holds something already, or the directory it is to lie in is not
// there; ResourceExhausted: the disk is full.
absl::StatusOr<CopyResult> BackUp(RocksDatabase& database, rocksdb::Env* env,
                                  const std::string& to_data, const CopyWatcher& watch);

// Of a store that no collector runs on: holds it meanwhile. Unavailable: one does.
absl::StatusOr<CopyResult> BackUpStopped(rocksdb::Env* env, const std::string& from_data,
                                         const std::string& to_data, const CopyWatcher& watch);

class DirectoryHold;

// The same of a store that is held already, by whoever is to put the copy in its place. On one file
// system it costs no space: files that are never written to again are shared (hard links).
absl::StatusOr<CopyResult> LinkHeld(const DirectoryHold& hold, const std::string& from_data,
                                    const std::string& to_data, const CopyWatcher& watch);

// From a backup (or any data directory that nobody uses) to a data directory without a store. Every
// byte is copied, then the copy is opened once to see that all of it is there. NotFound: there is
// no backup; FailedPrecondition: `to_data` has a store, or the backup is of another format. Run
// by root, what is restored is of the owner of `to_data`.
absl::StatusOr<CopyResult> Restore(rocksdb::Env* env, const std::string& from_data,
                                   const std::string& to_data, const CopyWatcher& watch);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_BACKUP_H_
