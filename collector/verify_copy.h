// A copy of a running collector's store for `verify` to read. The collector makes it in its own
// data directory, as `verify.part`, of hard links: it costs no space at first. It is gone with this
// object; what a killed verify left is removed by the next one, and by the collector at its start.
// The data directory is locked (flock) meanwhile, so that nobody removes a copy that is being read.
// One thread.

#ifndef TELLTALE_COLLECTOR_VERIFY_COPY_H_
#define TELLTALE_COLLECTOR_VERIFY_COPY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/backup.h"

namespace telltale::collector {

class VerifyCopy {
 public:
  // `data` is absolute. NotFound: no collector runs on it; FailedPrecondition: another verify reads
  // its copy; Cancelled: `watch` wanted no more.
  static absl::StatusOr<std::unique_ptr<VerifyCopy>> Ask(const std::string& data,
                                                         const storage::CopyWatcher& watch);
  ~VerifyCopy();
  VerifyCopy(const VerifyCopy&) = delete;
  VerifyCopy& operator=(const VerifyCopy&) = delete;

  const std::string& path() const { return path_; }  // a data directory

  // Removes what a killed verify left in `data`; not while one reads.
  static absl::Status RemoveLeft(const std::string& data);

 private:
  VerifyCopy(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  // descriptor of the data directory
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_VERIFY_COPY_H_
