// What a disk would still have if the power went now: a journal of what was done to the files below
// one directory, and the act of making the directory so. A file keeps what was synced of it, an
// entry of a directory (made, renamed, removed) what was done before the directory was last synced;
// of what came later a disk may have anything: nothing, or by `seed` some of it.
//
// Files that were there before the journal began are whole. Renamed and removed directories
// are taken as durable at once. The journal itself is a file, so that it outlives the process whose
// disk it is; deleted and replaced files wait in KEEP until it is settled. The caller sees to it
// that an operation and its note are not torn apart. Thread-safe.

#ifndef TELLTALE_TESTS_SUPPORT_DISK_JOURNAL_H_
#define TELLTALE_TESTS_SUPPORT_DISK_JOURNAL_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace telltale::testing {

class DiskJournal {
 public:
  // `keep`: a directory on the same file system, not below what is watched.
  explicit DiskJournal(std::string keep);
  ~DiskJournal();
  DiskJournal(const DiskJournal&) = delete;
  DiskJournal& operator=(const DiskJournal&) = delete;

  // Call before `path` is replaced or deleted: what stands there gets a second name in KEEP. Empty:
  // nothing does. Hand it to the next call below.
  std::string PutAside(const std::string& path);

  void Made(const std::string& path, const std::string& aside);
  void Linked(const std::string& path);
  void Synced(const std::string& path, uint64_t bytes);
  void Renamed(const std::string& from, const std::string& to, const std::string& aside);
  void Deleted(const std::string& path, const std::string& aside);
  void RenamedDirectory(const std::string& from, const std::string& to);
  void RemovedDirectory(const std::string& path);
  void MadeDirectory(const std::string& path);
  void SyncedDirectory(const std::string& path);

  // The power goes: nobody uses the files any more. Seed 0: all that was not synced is gone.
  // Afterwards the journal is empty.
  static void CutPower(const std::string& keep, uint64_t seed);
  // It does not: what waits in KEEP is let go.
  static void Settle(const std::string& keep);

 private:
  void Note(char what, const std::string& a, const std::string& b = "", const std::string& c = "");

  const std::string keep_;
  std::mutex mutex_;
  int file_ = -1;
  uint64_t aside_ = 0;  // guarded by mutex_
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_DISK_JOURNAL_H_
