// What arrived and what is known to be missing. SequenceLedger: of one (node, incarnation), which
// sequence numbers were received and which were declared lost, as ranges. CoverageDay: of one node
// and one day, which time was watched by a sensor. Both are values: they have no lock and no I/O;
// SummaryStore keeps them in the catalog and Reader hands out copies.

#ifndef TELLTALE_STORAGE_LEDGER_H_
#define TELLTALE_STORAGE_LEDGER_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/placement.h"
#include "telltale/v1/store.pb.h"

namespace telltale::storage {

// Sequence numbers given up for good, [first, last]. Times: of what they covered, 0 if unknown.
struct LostRange {
  uint64_t first = 0;
  uint64_t last = 0;
  v1::Lost::Reason reason = v1::Lost::REASON_UNSPECIFIED;
  std::string detail;  // <= 200 bytes
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

class SequenceLedger {
 public:
  // At a bound, and when its days have expired, the lowest part is settled: nothing at or below
  // settled_through() is taken in any more, and what was missing there counts as lost. So memory is
  // bounded and nothing is forgotten in silence.
  static constexpr size_t kMaxRanges = 4096;
  static constexpr size_t kMaxLost = 512;
  static constexpr size_t kMaxDays = 1024;

  static absl::StatusOr<SequenceLedger> FromRecord(const v1::LedgerRecord& record);
  v1::LedgerRecord ToRecord() const;

  bool Received(uint64_t sequence) const;  // or settled
  bool DeclaredLost(uint64_t sequence) const;

  // An epoch with this number lies in this day; or something else was heard of it on this day.
  void NoteDay(uint16_t day, uint64_t sequence);
  void NoteDay(uint16_t day) { last_day_ = std::max(last_day_, day); }
  uint16_t last_day() const { return last_day_; }

  // Days before `floor_day` have expired: settles all below the first number that may lie in a
  // later day. Losses of a known time at or after `since_ns` stay listed, because they explain
  // gaps.
  void Expire(uint16_t floor_day, uint64_t since_ns);

  void AddReceived(uint64_t sequence);  // no longer lost, should it have been declared so
  void AddLost(const LostRange& lost);  // what was received of it stays received

  // Every sequence number up to this one is received or declared lost; 0: not even the first.
  uint64_t received_through() const;
  uint64_t highest() const;
  uint64_t settled_through() const { return settled_through_; }
  uint64_t received_count() const { return received_count_; }
  uint64_t lost_count() const { return lost_count_; }
  // Numbers up to the highest that are neither received nor lost: still to come, or a gap nobody
  // declared.
  uint64_t missing_count() const;
  const std::vector<LostRange>& lost() const { return lost_; }
  std::vector<std::pair<uint64_t, uint64_t>> received() const;  // [first, last], ascending

 private:
  void Bound();
  // Settles up to this number, or only what already is; losses of known time since then stay
  // listed.
  void Settle(uint64_t through, uint64_t keep_lost_since_ns);

  struct Span {
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
  };

  std::map<uint64_t, uint64_t> received_;  // first -> last, disjoint, not adjacent
  std::vector<LostRange> lost_;    // ascending by first, disjoint from received_ and each other
  std::map<uint16_t, Span> days_;  // of days that have not expired: the numbers they hold
  uint16_t last_day_ = 0;
  uint64_t settled_through_ = 0;
  uint64_t settled_received_ = 0;
  uint64_t settled_lost_ = 0;  // without those still listed in lost_
  uint64_t received_count_ = 0;
  uint64_t lost_count_ = 0;
};

// One stretch of a node's day. Stretches that were watched throughout grow together.
struct CoveragePiece {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t watched_ns = 0;  // == end - start when watched throughout
  uint32_t epochs = 0;
  uint32_t partial_epochs = 0;
};

// A planned end of reporting: silence after it is not a gap.
struct PlannedStop {
  uint64_t time_ns = 0;
  v1::Goodbye::Reason reason = v1::Goodbye::REASON_UNSPECIFIED;
};

class CoverageDay {
 public:
  static constexpr size_t kMaxPieces = 512;  // at the bound the two closest neighbours become one
  static constexpr size_t kMaxStops = 64;
  // Clocks put the ends of adjacent epochs this far apart without time having gone unwatched.
  static constexpr uint64_t kJoinNs = 500'000'000;

  static absl::StatusOr<CoverageDay> FromRecord(const v1::CoverageRecord& record);
  v1::CoverageRecord ToRecord() const;

  void Add(const EpochSpan& span);
  void AddStop(const PlannedStop& stop);

  const std::vector<CoveragePiece>& pieces() const {
    return pieces_;
  }  // ascending, disjoint up to kJoinNs
  const std::vector<PlannedStop>& stops() const { return stops_; }

 private:
  std::vector<CoveragePiece> pieces_;
  std::vector<PlannedStop> stops_;
};

// A stretch of time without data from a node that should have had some.
struct Gap {
  enum class Cause { kDeclaredLost, kStopped, kMissing };
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  Cause cause = Cause::kMissing;
  std::string detail;           // reason of the loss or of the stop, for people; empty: unknown
  uint64_t first_sequence = 0;  // of a declared loss, else 0
  uint64_t last_sequence = 0;
};

// What [from, to) rests on for one node.
struct CoverageView {
  uint64_t watched_ns = 0;
  uint64_t unwatched_ns = 0;  // the rest of the range, planned stops left out
  uint64_t stopped_ns = 0;    // after a planned stop
  uint32_t epochs = 0;
  uint32_t partial_epochs = 0;
  uint32_t epochs_lost =
      0;                  // declared lost within the range (those of unknown time are counted too)
  std::vector<Gap> gaps;  // ascending; kStopped ones too
};

// Pure: pieces and stops ascending and covering at least [from, to); `lost` of all incarnations.
CoverageView ViewCoverage(const std::vector<CoveragePiece>& pieces,
                          const std::vector<PlannedStop>& stops, const std::vector<LostRange>& lost,
                          uint64_t from_ns, uint64_t to_ns);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_LEDGER_H_
