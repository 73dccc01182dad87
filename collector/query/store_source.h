// The stored data as answers see it: opens raw summaries with the codec.
//
// Thread-safe; `reader` is not owned and outlives it.

#ifndef TELLTALE_COLLECTOR_QUERY_STORE_SOURCE_H_
#define TELLTALE_COLLECTOR_QUERY_STORE_SOURCE_H_

#include "collector/query/source.h"

namespace telltale::query {

class StoreSource : public Source {
 public:
  explicit StoreSource(const storage::Reader* reader) : reader_(reader) {}

  storage::NodeList Nodes() const override;
  absl::Status ForEachEpoch(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                            const proto::BodyParts& parts, const EpochVisitor& visit,
                            LeftOut* left_out) const override;
  std::shared_ptr<const v1::Schema> Schema(uint64_t id) const override;
  std::optional<std::string> SymbolName(std::string_view build_id, uint64_t offset,
                                        uint32_t node) const override;
  absl::StatusOr<storage::CoverageView> Coverage(uint32_t node, uint64_t from_ns,
                                                 uint64_t to_ns) const override;
  std::vector<std::pair<storage::Incarnation, storage::SequenceLedger>> Ledgers(
      uint32_t node) const override;
  storage::NodeCounters Counters(uint32_t node) const override;
  absl::StatusOr<std::vector<storage::DataRange>> DataRanges(uint32_t node) const override;
  absl::Status ForEachSeries(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                             const storage::Reader::SeriesVisitor& visit,
                             const storage::DamagedVisitor& damaged) const override;
  absl::Status ForEachLine(storage::Tier tier, uint8_t vital, uint64_t from_ns, uint64_t to_ns,
                           const storage::Reader::LineVisitor& visit,
                           const storage::DamagedVisitor& damaged,
                           const std::vector<uint32_t>& groups) const override;
  absl::Status ForEachRollup(storage::Tier tier, uint32_t node, uint64_t from_ns, uint64_t to_ns,
                             const storage::RollupParts& parts,
                             const storage::Reader::RollupVisitor& visit,
                             const storage::DamagedVisitor& damaged) const override;
  std::vector<storage::DirtyKey> Dirty(uint32_t node, uint64_t from_ns,
                                       uint64_t to_ns) const override;
  absl::StatusOr<std::vector<storage::DirtyLineKey>> DirtyLines(storage::Tier tier,
                                                                uint64_t from_ns,
                                                                uint64_t to_ns) const override;
  uint64_t RawFloorNs() const override;
  uint64_t Stamp(const std::vector<uint32_t>& groups, uint64_t from_ns,
                 uint64_t to_ns) const override;
  absl::StatusOr<std::vector<storage::StoreSizeRow>> Sizes() const override;
  uint64_t DirtyWindows() const override;
  uint64_t StoredSummaries() const override;

 private:
  const storage::Reader* const reader_;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_STORE_SOURCE_H_
