// The files of salvage: which table files of a store are damaged, and a copy of it without them, in
// which the rows of their key ranges are written anew. What a damaged file held may have stood in
// front of older rows of the same keys, as newer values and as deletions; so of its whole range
// nothing counts but what the damaged store itself still gives an answer with.
//
// Free functions; one thread, on databases nobody else uses.

#ifndef TELLTALE_STORAGE_SALVAGE_FILES_H_
#define TELLTALE_STORAGE_SALVAGE_FILES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/history.h"
#include "storage/rocks_database.h"

namespace telltale::storage {

struct DamagedFile {
  uint64_t number = 0;
  std::string name;               // in rocks/
  std::string family;             // "raw", "catalog"
  std::string smallest, largest;  // keys
  uint64_t bytes = 0;
  std::string fault;
};

// Keys of a family, smallest <= key <= largest, that are written anew.
struct RewrittenRange {
  std::string family;
  std::string smallest, largest;
  std::vector<std::string> files;  // whose range it is
};

// Rows that cannot be read.
struct LostPart {
  std::string family;
  DamagedRange range;    // as verify tells it
  std::string from, to;  // the keys it may have had: from <= key < to
  std::string why;       // which file they were lost with
  // All of them, where it was their bodies alone that could not be read.
  std::vector<std::string> keys;
  bool Has(std::string_view key) const { return key >= from && key < to; }
};

// By number. Errors: they could not all be looked at.
absl::StatusOr<std::vector<DamagedFile>> FindDamaged(RocksDatabase& database);

// The ranges of these files; those that meet are one.
std::vector<RewrittenRange> RangesOf(const std::vector<DamagedFile>& files);

// About how many bytes on disk it takes to write these ranges anew and to compact them: tables
// twice, of the bodies in .blob files a share as large as the range's of the tables.
absl::StatusOr<uint64_t> RoomFor(RocksDatabase& damaged, const std::vector<RewrittenRange>& ranges);

// Takes the files out of the database in a directory that is not open. They stay where they are
// until it is opened next.
absl::Status TakeOut(const std::string& rocks, const std::vector<DamagedFile>& files);

// Told the rows written so far. False: stop (Cancelled).
using RowsWatcher = std::function<bool(uint64_t rows)>;

// Writes the ranges of `damaged` into `fresh`, the copy whose damaged files were taken out, and
// syncs them. What could not be read, in the order of families and keys.
absl::StatusOr<std::vector<LostPart>> WriteAnew(RocksDatabase& damaged, RocksDatabase& fresh,
                                                const std::vector<RewrittenRange>& ranges,
                                                const RowsWatcher& watch);

// Takes out the rows whose bodies, in .blob files, cannot be read, though their tables can; those
// next to each other are one part. RocksDB does not check these files by itself, so all bodies are
// read. The files stay as long as other rows have bodies in them.
absl::StatusOr<std::vector<LostPart>> TakeOutBodies(RocksDatabase& fresh, const RowsWatcher& watch);

// Has RocksDB rewrite these ranges, as it would in time.
absl::Status Compact(RocksDatabase& database, const std::vector<RewrittenRange>& ranges);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_SALVAGE_FILES_H_
