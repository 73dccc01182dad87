// The history: append-only versioned rows in seven families, by far the most of the bytes. Writing
// the same row again changes nothing; a row of a higher version stands for its key. There are no
// transactions over families, no iterators and no locks in this interface, so that a cluster of
// column stores can stand behind it as well as the local RocksDB.
//
// Implementations are thread-safe. Two threads must not write the same key at the same time.

#ifndef TELLTALE_STORAGE_HISTORY_H_
#define TELLTALE_STORAGE_HISTORY_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::storage {

// On disk as names; the numbers are not stored.
enum class Family : uint8_t { kRaw, kCells, kSeries, kLine, kRollup, kDerived, kDict };
inline constexpr size_t kFamilies = 7;
std::string_view FamilyName(Family family);

struct Row {
  Family family = Family::kRaw;
  std::string key;    // <= 1,024 bytes
  std::string value;  // begins with a version byte of its format, <= 16 MiB
  // Of the row, not of its format: the writer of a key gives ascending numbers.
  uint64_t version = 0;
};

// Called for each row in key order; the views live until it returns. False ends the scan.
using RowVisitor = std::function<bool(std::string_view key, std::string_view value)>;

// Rows of a scan that lie in a damaged part of a file.
struct DamagedRange {
  std::string after;   // key of the row read last in front of them; empty: none
  std::string before;  // of the first one behind them that can be read; empty: none
  uint64_t rows = 0;   // estimate
  std::string why;     // names the file where it is known
};
using DamageVisitor = std::function<void(const DamagedRange& range)>;

struct FamilySize {
  uint64_t bytes = 0;  // on disk, and what is still in memory
  uint64_t rows = 0;   // estimate
};

class History {
 public:
  virtual ~History() = default;

  // Rows are visible when this returns and durable after the next Sync(). Not atomic: after a crash
  // any subset may be there. ResourceExhausted: no space; Unavailable: another write error. After
  // either, the caller writes the same rows again later; what was there before is unharmed.
  virtual absl::Status Append(std::span<const Row> rows) = 0;

  // Returns when everything appended before the call survives a crash of machine or process.
  virtual absl::Status Sync() = 0;

  // Grows when the history began anew from what is on disk: rows that were visible and not yet
  // durable may be gone. Who remembers that a row is there asks whether it still is the same.
  virtual uint64_t Beginnings() const { return 1; }

  // The value; NotFound: no such row; DataLoss: it is there but damaged.
  virtual absl::StatusOr<std::string> Get(Family family, std::string_view key) const = 0;

  // All rows with from <= key < to (empty `to`: to the end), as of the moment of the call.
  virtual absl::Status Scan(Family family, std::string_view from, std::string_view to,
                            const RowVisitor& visit) const = 0;

  // A scan that goes on behind what cannot be read and tells each such range, in key order.
  virtual absl::Status ScanOver(Family family, std::string_view from, std::string_view to,
                                const RowVisitor& visit, const DamageVisitor& damaged) const {
    (void)damaged;
    return Scan(family, from, to, visit);
  }

  // Forgets rows with from <= key < to; meant for whole partitions, gives the space back soon.
  virtual absl::Status DropRange(Family family, std::string_view from, std::string_view to) = 0;

  virtual absl::StatusOr<FamilySize> Size(Family family) const = 0;
  // Bytes of one range, for retention by size; an estimate.
  virtual absl::StatusOr<uint64_t> RangeBytes(Family family, std::string_view from,
                                              std::string_view to) const = 0;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_HISTORY_H_
