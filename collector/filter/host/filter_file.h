// Files in filters.d: which there are, whether they may be run, and a copy of one that stays the
// same whatever becomes of the file.
//
// Plain values and free functions: any thread.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_FILTER_FILE_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_FILTER_FILE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::filter {

constexpr size_t kMaxFilterFiles = 32;
constexpr uint64_t kMaxFilterFileBytes = 64 << 20;

// Differs when the file was replaced or written to.
struct FilterStamp {
  uint64_t inode = 0, size = 0;
  int64_t changed_ns = 0;
  auto operator<=>(const FilterStamp&) const = default;
};

// Files NAME.so of the directory by path; a directory that is not there has none. Beyond
// kMaxFilterFiles, in the order of their names, they are only counted.
struct FilterListing {
  std::map<std::string, FilterStamp> files;
  size_t left_out = 0;
};
absl::StatusOr<FilterListing> ListFilters(const std::string& directory);

// A copy of the file in memory; close it. It runs as this process: FailedPrecondition if it or its
// directory belongs to, or can be written by, somebody who is neither root nor this process's user.
absl::StatusOr<int> OpenFilter(const std::string& path);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_FILTER_FILE_H_
