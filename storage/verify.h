// Reads all of a store and holds its parts against each other: checksums of files, every key and
// value decodes, every summary and every blob has its digest, the ledger lists exactly the counted
// summaries that stand in raw, coverage and counters are their sums, names of windows are where
// their locations need them, and every row of a coarser tier whose source still stands equals its
// recomputation. What cannot be read is stepped over, named and counted, and the rest is read all
// the same. Changes nothing. One thread; meant for a store that nobody writes to
// (StoreOptions::read_only).

#ifndef TELLTALE_STORAGE_VERIFY_H_
#define TELLTALE_STORAGE_VERIFY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/store.h"

namespace telltale::storage {

struct VerifyOptions {
  size_t max_faults = 20;  // described of each family; all are counted
  // Told every so often what is being read; `total` is an estimate. False: stop (Cancelled).
  std::function<bool(std::string_view step, uint64_t done, uint64_t total)> watch;
};

struct VerifyFault {
  std::string place;  // family or table, node, time, sequence
  std::string what;
};

// Of one family or the catalog: what lies in blocks that cannot be read.
struct VerifyLoss {
  uint64_t ranges = 0;
  uint64_t rows = 0;    // estimate
  uint64_t epochs = 0;  // of raw: acknowledged ones that were not read

  void Add(const DamagedRange& range) {
    ++ranges;
    rows += range.rows;
  }
};

struct VerifyReport {
  uint64_t nodes = 0;
  uint64_t epochs = 0;  // counted summaries in raw
  uint64_t apart = 0;   // stored apart: clones and conflicts
  uint64_t unlisted =
      0;  // written, but never acknowledged: a crash came between; they count for nothing
  uint64_t lost = 0;        // sequence numbers declared lost
  uint64_t missing = 0;     // neither received nor declared lost
  uint64_t blobs = 0;       // whose content has its digest
  uint64_t rows = 0;        // of all families and the catalog
  uint64_t names = 0;       // locations of windows whose name stands where it must
  uint64_t recomputed = 0;  // series blocks, windows and line blocks that equal what they rest on
  uint64_t pending = 0;     // those marked as still to be computed
  uint64_t sealed = 0;      // those whose source has expired: only decoded
  uint64_t fault_count = 0;
  std::vector<VerifyFault> faults;           // the first of each family
  std::map<std::string, VerifyLoss> losses;  // by family; verify_damage.h says what they mean
  // By family: rows that say that one was lost with a damaged file and salvaged. No faults; what is
  // made of such rows cannot be held against them and counts as sealed.
  std::map<std::string, uint64_t> told;
  bool needed_lost = false;  // of the catalog of a store that opens: a collector would not start
};

// An error only when it was stopped; what is wrong with the store is in the report.
absl::StatusOr<VerifyReport> Verify(Store& store, const VerifyOptions& options);

// Of a store that cannot be opened because of damage: which rows of which families cannot be read.
// Holds nothing against each other. An error: the files cannot be opened as a database either.
absl::StatusOr<VerifyReport> VerifyRows(const StoreOptions& store, const VerifyOptions& options);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_VERIFY_H_
