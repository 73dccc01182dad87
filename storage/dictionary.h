// Names of code locations, in partitions that live as long as the data that refers to them. Bodies
// and rollup windows carry strings, frames and stacks in tables of their own, so a stored stack is
// whole for as long as its row is; what stands here is only what a (build id, offset) is called.
//
// A node tells its names with the first summary that uses them and again a week later
// (proto::kNamesTravelAgainNs): they go to the tier-raw partition of their arrival, which outlives
// the summaries that rest on it. When a coarser window is written, the names of its locations are
// kept in the partition of its tier and time (Keep), which is dropped after the last window in it.
// So no name is shared between partitions, nothing is counted, and each goes in one piece.
//
// A name belongs to the node that told it. Others see it only when two nodes told the same: then it
// is written once more under no node's number (kSharedName).
//
// Thread-safe. Owned by the Store; grammar in FORMAT.md.

#ifndef TELLTALE_STORAGE_DICTIONARY_H_
#define TELLTALE_STORAGE_DICTIONARY_H_

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
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {

class Dictionary {
 public:
  // Names serve summaries that come up to this much later than they did (a week, and a day for
  // clocks that are off).
  static constexpr uint64_t kServesNs = 8 * kDayNs;

  // Finds the partitions there are. `history` outlives this.
  static absl::StatusOr<std::unique_ptr<Dictionary>> Open(History* history);

  struct Told {
    uint64_t bytes = 0;     // keys and values that are new in this partition
    uint32_t left_out = 0;  // names for which `room_bytes` did not suffice
  };
  // Names a node tells at `now_ns`; rows are durable with the next Sync of the history. Offsets and
  // names are of equal number. Errors as of History::Append.
  absl::StatusOr<Told> Tell(uint32_t node, const v1::Names& names, uint64_t now_ns,
                            uint64_t room_bytes);

  // What the node itself called this location, last; else what two nodes agreed on. Nothing: nobody
  // told, or the build id is empty or longer than 255 bytes.
  std::optional<std::string> Name(std::string_view build_id, uint64_t offset, uint32_t node) const;

  // Keeps the names of all locations in the tables of a window for as long as the window lives.
  // Call before its rows are written. Errors as of History.
  absl::Status Keep(Tier tier, uint64_t window_start_ns, uint32_t node, const v1::Tables& tables);

  // Drops the partitions of a tier that nothing at or after this time refers to; returns how many.
  absl::StatusOr<uint32_t> DropBefore(Tier tier, uint64_t time_ns);

  std::set<NamePartition> partitions() const;

 private:
  struct Found {
    std::string value;  // as stored
    bool shared = false;
  };

  explicit Dictionary(History* history);
  absl::StatusOr<std::optional<Found>> Find(std::string_view build_id, uint64_t offset,
                                            uint32_t node) const;
  // Whether another node told this name in the current partition or the one before: a name in use
  // is in one of the two.
  absl::StatusOr<bool> Agreed(NamePartition now, std::string_view build_id, uint64_t offset,
                              uint32_t node, std::string_view value) const;
  absl::Status Append(NamePartition partition, const std::vector<Row>& rows);
  absl::Status KeepOne(NamePartition partition, std::string_view build_id, uint64_t offset,
                       uint32_t node, std::vector<Row>* rows, std::vector<uint64_t>* kept);

  History* const history_;
  std::mutex tell_mutex_;  // two nodes that tell the same at once must see each other

  mutable std::mutex mutex_;
  std::set<NamePartition> partitions_;  // guarded by mutex_
  // What Keep need not look up again, direct-mapped: (partition, node, location) that were kept,
  // and (node, location) that have no name. Guarded by mutex_.
  std::vector<uint64_t> kept_;
  mutable std::vector<uint64_t> unnamed_;
  uint64_t told_ = 0;  // guarded by mutex_; grows when a name comes
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_DICTIONARY_H_
