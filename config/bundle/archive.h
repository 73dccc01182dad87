// A .tar.gz in memory: what a bundle is sent as.
//
// One thread.

#ifndef TELLTALE_CONFIG_BUNDLE_ARCHIVE_H_
#define TELLTALE_CONFIG_BUNDLE_ARCHIVE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace telltale::bundle {

// Ustar, file mode 0600, owner 0. Names are plain paths below the archive's one directory.
class Archive {
 public:
  Archive(std::string directory, absl::Time now) : directory_(std::move(directory)), now_(now) {}

  // InvalidArgument: an empty or absolute name, one with "..", or longer than 100 bytes with the
  // directory.
  absl::Status Add(const std::string& name, const std::string& data);

  // Gzip of everything added; then the archive is done.
  absl::StatusOr<std::string> Compress();

 private:
  const std::string directory_;
  const absl::Time now_;
  std::string tar_;
};

}  // namespace telltale::bundle

#endif  // TELLTALE_CONFIG_BUNDLE_ARCHIVE_H_
