// Names of code locations, in partitions that live as long as the data that refers to them. Bodies
// and rollup windows carry strings, frames and stacks in tables of their own, so a stored stack is
// whole for as long as its row is; what stands here is only what a (build id, offset) is called.
//
// A node tells its names with the first summary that uses them and again a week later
// (proto::kNamesTravelAgainNs): they go to the tier-raw partition of their arrival, which outlives
// the summaries that rest on it. When a coarser window is written, the names of its locations are
// kept in the partition of its tier and time (Keep), which is dropped after the last window in it.
// A location without a name is kept as wanted: when a backlog brings the name after the window was
// written, it is filled in (Tell). Nothing refers from one partition to another and nothing is
// counted, so each goes in one piece.
//
// A name belongs to the node that told it. Others see it only when two nodes told the same: then it
// is written once more under no node's number (kSharedName), and who tells the same from then on
// needs no row of its own.
//
// What most nodes of a fleet tell is told already, and what their windows use is kept already: both
// are remembered (name_memory.h) in 44 MiB at most.
//
// Rows in a damaged block are lost names: their locations have none until their nodes tell them
// again (within a week), everything else goes on, and each time one is met is counted. Nothing here
// is numbered: a location is its build id and offset, whoever refers to it says both, so nothing
// that was lost can be taken for something else.
//
// Thread-safe. Owned by the Store; grammar in FORMAT.md.

#ifndef TELLTALE_STORAGE_DICTIONARY_H_
#define TELLTALE_STORAGE_DICTIONARY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/history.h"
#include "storage/keys.h"
#include "storage/name_memory.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {

class Dictionary {
 public:
  // Names serve summaries that come up to this much later than they did (a week, and a day for
  // clocks that are off).
  static constexpr uint64_t kServesNs = 8 * kDayNs;

  // Finds the partitions there are. `history` outlives this.
  static absl::StatusOr<std::unique_ptr<Dictionary>> Open(History* history,
                                                          const NameMemory& memory = {});

  struct Telling {
    uint64_t now_ns = 0;      // the collector's clock
    uint64_t sealed_ns = 0;   // windows that begin before it are written no more (the raw floor)
    uint64_t room_bytes = 0;  // of the node's quota
  };
  struct Told {
    uint64_t bytes = 0;         // keys and values that are new in the raw partition
    uint32_t left_out = 0;      // names for which `room_bytes` did not suffice
    uint32_t contradicted = 0;  // written, but other nodes call these locations otherwise
  };
  // Names a node tells; rows are durable with the next Sync of the history. Offsets and names are
  // of equal number. Errors as of History::Append.
  absl::StatusOr<Told> Tell(uint32_t node, const v1::Names& names, const Telling& telling);

  // What the node itself called this location, last; else what two nodes agreed on. Nothing: nobody
  // told, or the build id is empty or longer than 255 bytes.
  std::optional<std::string> Name(std::string_view build_id, uint64_t offset, uint32_t node) const;

  // Keeps the names of all locations in the tables of a window for as long as the window lives.
  // Call before its rows are written. Errors as of History.
  absl::Status Keep(Tier tier, uint64_t window_start_ns, uint32_t node, const v1::Tables& tables);

  // Drops the partitions of a tier that nothing at or after this time refers to; returns how many.
  absl::StatusOr<uint32_t> DropBefore(Tier tier, uint64_t time_ns);

  std::set<NamePartition> partitions() const;

  // Rows that could not be read, each time one was met since it was opened; an estimate.
  uint64_t Unreadable() const { return unreadable_.load(std::memory_order_relaxed); }
  // Names written since it was opened for locations that others call otherwise and nobody the same:
  // they are their teller's alone.
  uint64_t Contradicted() const { return contradicted_.load(std::memory_order_relaxed); }

 private:
  // What other nodes call a location, beside the name one of them tells.
  enum class Others { kSilent, kAgree, kContradict };
  struct Location {
    std::string_view build_id;
    uint64_t offset = 0;
    uint64_t digest = 0;  // of the two
  };
  struct Found {
    std::string value;  // as stored
    bool shared = false;
  };
  // What a call has to write, and what stands once that is written.
  struct Pending {
    std::vector<Row> rows;
    std::vector<uint64_t> locations;  // of each row
    std::vector<uint64_t> standing;   // as StandingRows knows them
  };

  Dictionary(History* history, const NameMemory& memory);
  void CountUnreadable(uint64_t rows) const {
    unreadable_.fetch_add(rows, std::memory_order_relaxed);
  }
  // Partitions that may lie between two that were found, where rows could not be read. One that is
  // not there costs a look.
  void AddHidden(std::optional<NamePartition> before, std::optional<NamePartition> behind);
  Location LocationOf(std::string_view build_id, uint64_t offset) const;
  // A row; nothing: there is none, or it cannot be read.
  absl::StatusOr<std::optional<std::string>> Stored(std::string_view key) const;
  // Rows that begin with the prefix. False: from some place on they cannot be read.
  absl::StatusOr<bool> ScanStored(std::string_view prefix, const RowVisitor& visit) const;
  // What is remembered of rows that may be gone is forgotten; the number for Remember.
  uint64_t BeginRemembering();
  // Unless the history began anew meanwhile.
  void Remember(const std::vector<uint64_t>& rows, uint64_t beginnings);
  bool Stands(uint64_t row) const;
  bool MayHaveRow(const Location& location, uint32_t source) const;
  bool MayHaveAnyRow(const Location& location) const;
  // The source calls it something new: windows keep the latest.
  void ForgetKept(const Location& location, uint32_t source);
  // Finds out which sources have rows for the location, if that is not known. Not while rows are
  // written: the caller has tell_mutex_.
  absl::Status LearnSources(const Location& location);
  // What one source called a location last, wherever that stands; wanted ones are no names.
  absl::StatusOr<std::optional<std::string>> Last(const Location& location, uint32_t source) const;
  absl::StatusOr<std::optional<Found>> Find(const Location& location, uint32_t node) const;
  // Beside this name, what others told in the current partition and the one before: a name in use
  // is in one of the two.
  absl::StatusOr<Others> OthersTell(NamePartition now, const Location& location, uint32_t node,
                                    std::string_view value) const;
  // Rows that fill in a name where windows want it: the node's own, or what is now shared.
  absl::Status FillWanted(const Location& location, uint32_t source, const std::string& value,
                          uint64_t sealed_ns, Pending* pending) const;
  absl::Status TellOne(NamePartition now, const Location& location, uint32_t node,
                       const std::string& value, const Telling& telling, Told* told,
                       Pending* pending);
  // The row that keeps what a location is called; none: it is there.
  absl::Status KeepOne(NamePartition partition, const Location& location, uint32_t node,
                       Pending* pending);
  absl::Status Append(const Pending& pending);

  History* const history_;
  const uint64_t salt_;  // of digests: nobody can make locations that are taken for each other
  // Two nodes that tell the same at once must see each other, and whoever finds no name must be
  // seen to want it.
  std::mutex tell_mutex_;

  mutable std::atomic<uint64_t> unreadable_{0};
  std::atomic<uint64_t> contradicted_{0};

  mutable std::mutex mutex_;
  std::set<NamePartition> partitions_;  // guarded by mutex_
  // Guarded by mutex_: rows that were kept or are shared, and who told of which location.
  StandingRows standing_;
  uint64_t beginnings_ = 0;  // of the history, for which standing_ holds
  LocationSources sources_;
  // Direct-mapped, guarded by mutex_: (node, location) that have no name.
  mutable std::vector<uint64_t> unnamed_;
  uint64_t told_ = 0;  // guarded by mutex_; grows when a name comes
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_DICTIONARY_H_
