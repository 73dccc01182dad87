// Whether the epochs of a node follow each other as time does. Each is held against the one before
// it and the one after it in its incarnation's numbering, each pair once and in whatever order they
// come, and what no verdict tells of is found: epochs that overlap, clocks that step. Owned by the
// node's entry; shard thread only.
//
// Only the ends of runs of numbers are remembered, which is what a live stream and a backlog sent
// downwards need. Of more than kMostEnds the longest known is forgotten, and all are over a restart
// of the collector: a pair goes unlooked at, nothing is found that is not so.

#ifndef TELLTALE_COLLECTOR_INGEST_EPOCH_ORDER_H_
#define TELLTALE_COLLECTOR_INGEST_EPOCH_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/keys.h"
#include "storage/placement.h"
#include "telltale/v1/store.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::ingest {

struct EpochOddity {
  v1::RemarkKind kind = v1::REMARK_KIND_UNSPECIFIED;
  std::string text;  // which epochs, when, by how much
};

class EpochOrder {
 public:
  static constexpr size_t kMostEnds = 8;
  // Offsets are measured, so neighbours may meet that far apart, and their two errors.
  static constexpr double kOverlapNs = 1e9;
  static constexpr double kStepNs = 2e9;

  // To be called once for an epoch: when it was stored, not when it is repeated.
  std::vector<EpochOddity> Add(const storage::Incarnation& incarnation, uint64_t sequence,
                               const v1::Epoch& epoch);

 private:
  struct End {
    storage::Incarnation incarnation = {};
    uint64_t sequence = 0;
    storage::EpochSpan span;
    int64_t offset_ns = 0;
    uint64_t error_ns = 0;               // 0: offset unknown
    bool before = false, after = false;  // held against its neighbour on that side
  };
  static void Compare(const End& first, const End& second, std::vector<EpochOddity>& found);

  std::vector<End> ends_;  // in the order they came
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_EPOCH_ORDER_H_
