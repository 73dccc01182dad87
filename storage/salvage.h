// Takes damaged table files out of a stopped collector's store, so that RocksDB can rewrite its
// files again: a block that cannot be read stops all writing at the first compaction that meets it.
// What of them can be read is written anew, what cannot is told in its place (salvage_losses.h),
// the files themselves are kept aside. Damaged .blob files stop nothing: they stay, and the rows
// whose bodies cannot be read are told in their place.
//
// All of it is done on a copy that shares the good files with the store; the store is replaced in
// one step at the end, and until then an error, a kill or a power cut changes nothing of it. One
// thread.

#ifndef TELLTALE_STORAGE_SALVAGE_H_
#define TELLTALE_STORAGE_SALVAGE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/salvage_files.h"
#include "storage/salvage_losses.h"
#include "storage/verify.h"

namespace telltale::storage {

struct SalvageReport {
  std::vector<DamagedFile> files;  // that were taken out
  std::string aside;               // the directory they are kept in; empty: there are none
  uint64_t bodies = 0;             // rows whose bodies, in damaged .blob files, could not be read
  std::set<std::string> families;  // that lost files or rows; none: nothing was changed
  std::vector<VerifyFault> lost;   // each range of rows that could not be read
  ToldLosses told;
};

struct SalvageOptions {
  std::string data;                  // the directory `store` lies in; absolute
  size_t memory_bytes = 256 << 20;   // as of StoreOptions, for each of two stores
  std::function<uint64_t()> now_ns;  // wall clock; empty: the system's
  // Bytes free on the file system `data` lies on; empty: as the system says.
  std::function<uint64_t()> free_bytes;
  // Told every so often what is done and how many rows were written. False: stop (Cancelled).
  std::function<bool(std::string_view step, uint64_t rows)> watch;
  // Writes down in the catalog of the salvaged store what was lost; may be empty. Not OK: nothing
  // is changed.
  std::function<absl::Status(Catalog& catalog, const SalvageReport& report)> record;
};

// DataLoss: a row is lost without which an epoch could be counted twice, a number be given twice or
// somebody be let in, or the store cannot be opened at all; Unavailable: a collector runs on it;
// ResourceExhausted: there is no room for what is to be written anew; others as of the disk. After
// any error the store is what it was.
absl::StatusOr<SalvageReport> Salvage(const SalvageOptions& options);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_SALVAGE_H_
