// What answers are computed from: the stored summaries, opened, and what the store knows beside
// them. An interface, so that answers are tested without a database; StoreSource is the real one.
//
// Thread-safe; owned by whoever made it, outlives the engine.

#ifndef TELLTALE_COLLECTOR_QUERY_SOURCE_H_
#define TELLTALE_COLLECTOR_QUERY_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/body_parts.h"
#include "storage/ledger.h"
#include "storage/placement.h"
#include "storage/reader.h"
#include "telltale/v1/store.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::query {

// One stored epoch of one node, opened and checked. The body lives as long as the visit.
struct StoredEpoch {
  uint32_t node = 0;
  storage::EpochSpan span;  // collector's clock
  uint64_t sequence = 0;
  const v1::SummaryBody* body = nullptr;
  std::shared_ptr<const v1::Schema> schema;  // describes the body's vitals
};

// Stored epochs that a scan could not read.
struct LeftOut {
  uint32_t epochs = 0;
  uint64_t watched_ns = 0;  // which they are of
};

class Source {
 public:
  virtual ~Source() = default;

  virtual storage::NodeList Nodes() const = 0;  // ascending by number

  // Counted epochs that overlap [from, to), ascending by start. False ends it. A row that cannot be
  // opened is skipped and counted in `left_out`. A body has at least the parts asked for.
  using EpochVisitor = std::function<bool(const StoredEpoch& epoch)>;
  virtual absl::Status ForEachEpoch(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                    const proto::BodyParts& parts, const EpochVisitor& visit,
                                    LeftOut* left_out) const = 0;

  // Description of vitals by id; nullptr: nobody ever sent it.
  virtual std::shared_ptr<const v1::Schema> Schema(uint64_t id) const = 0;
  // Name of the function at this location, if anybody told.
  virtual std::optional<std::string> SymbolName(std::string_view build_id, uint64_t offset,
                                                uint32_t node) const = 0;

  virtual absl::StatusOr<storage::CoverageView> Coverage(uint32_t node, uint64_t from_ns,
                                                         uint64_t to_ns) const = 0;
  virtual std::vector<std::pair<storage::Incarnation, storage::SequenceLedger>> Ledgers(
      uint32_t node) const = 0;
  virtual storage::NodeCounters Counters(uint32_t node) const = 0;
  // Where data is for this node (0: any), one entry per tier that has some.
  virtual absl::StatusOr<std::vector<storage::DataRange>> DataRanges(uint32_t node) const = 0;

  // Coarser tiers, and which of their rows may be behind, as in storage/reader.h.
  virtual absl::Status ForEachSeries(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                     const storage::Reader::SeriesVisitor& visit,
                                     const storage::DamagedVisitor& damaged) const = 0;
  virtual absl::Status ForEachLine(storage::Tier tier, uint8_t vital, uint64_t from_ns,
                                   uint64_t to_ns, const storage::Reader::LineVisitor& visit,
                                   const storage::DamagedVisitor& damaged,
                                   const std::vector<uint32_t>& groups) const = 0;
  virtual absl::Status ForEachRollup(storage::Tier tier, uint32_t node, uint64_t from_ns,
                                     uint64_t to_ns, const storage::RollupParts& parts,
                                     const storage::Reader::RollupVisitor& visit,
                                     const storage::DamagedVisitor& damaged) const = 0;

  virtual std::vector<storage::DirtyKey> Dirty(uint32_t node, uint64_t from_ns,
                                               uint64_t to_ns) const = 0;
  virtual absl::StatusOr<std::vector<storage::DirtyLineKey>> DirtyLines(storage::Tier tier,
                                                                        uint64_t from_ns,
                                                                        uint64_t to_ns) const = 0;
  virtual uint64_t RawFloorNs() const = 0;
  virtual uint64_t Stamp(const std::vector<uint32_t>& groups, uint64_t from_ns,
                         uint64_t to_ns) const = 0;

  virtual absl::StatusOr<std::vector<storage::StoreSizeRow>> Sizes() const = 0;
  virtual uint64_t DirtyWindows() const = 0;
  virtual uint64_t StoredSummaries() const = 0;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SOURCE_H_
