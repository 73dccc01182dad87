#include "collector/query/store_source.h"

#include <algorithm>

#include "proto/codec.h"

namespace telltale::query {

storage::NodeList StoreSource::Nodes() const { return reader_->Nodes(); }

absl::Status StoreSource::ForEachEpoch(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                       const proto::BodyParts& parts, const EpochVisitor& visit,
                                       LeftOut* left_out) const {
  std::shared_ptr<const v1::Schema> schema;
  // A damaged block of a file takes all that lies behind it: what was there, the ledger knows.
  const auto leave_out = [&](uint64_t start_ns, uint64_t end_ns) {
    const auto view = reader_->Coverage(node, std::max(start_ns, from_ns), std::min(end_ns, to_ns));
    left_out->epochs += std::max<uint32_t>(1, view.ok() ? static_cast<uint32_t>(view->epochs) : 1);
    if (view.ok()) left_out->watched_ns += view->watched_ns;
    return true;
  };
  const auto open = [&](const storage::RawRow& row) {
    if (schema == nullptr || schema->id() != row.summary.schema_id()) {
      schema = Schema(row.summary.schema_id());
    }
    if (schema == nullptr) return leave_out(row.key.start_ns, row.end_ns);
    absl::StatusOr<proto::Decoded> decoded = proto::DecodeParts(row.summary, *schema, parts);
    if (!decoded.ok()) return leave_out(row.key.start_ns, row.end_ns);
    StoredEpoch epoch;
    epoch.node = node;
    epoch.span = storage::PlaceEpoch(decoded->body->epoch());
    epoch.sequence = row.key.sequence;
    epoch.body = &*decoded->body;
    epoch.schema = schema;
    return visit(epoch);
  };
  return reader_->ForEachRaw(node, from_ns, to_ns, open, [&](const storage::DamagedRow& row) {
    leave_out(row.start_ns, row.end_ns);
  });
}

std::shared_ptr<const v1::Schema> StoreSource::Schema(uint64_t id) const {
  absl::StatusOr<std::shared_ptr<const v1::Schema>> schema = reader_->Schema(id);
  return schema.ok() ? *std::move(schema) : nullptr;
}

std::optional<std::string> StoreSource::SymbolName(std::string_view build_id, uint64_t offset,
                                                   uint32_t node) const {
  return reader_->SymbolName(build_id, offset, node);
}

absl::StatusOr<storage::CoverageView> StoreSource::Coverage(uint32_t node, uint64_t from_ns,
                                                            uint64_t to_ns) const {
  return reader_->Coverage(node, from_ns, to_ns);
}

std::vector<std::pair<storage::Incarnation, storage::SequenceLedger>> StoreSource::Ledgers(
    uint32_t node) const {
  return reader_->Ledgers(node);
}

storage::NodeCounters StoreSource::Counters(uint32_t node) const { return reader_->Counters(node); }

absl::StatusOr<std::vector<storage::DataRange>> StoreSource::DataRanges(uint32_t node) const {
  return reader_->DataRanges(node);
}

absl::Status StoreSource::ForEachSeries(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                        const storage::Reader::SeriesVisitor& visit,
                                        const storage::DamagedVisitor& damaged) const {
  return reader_->ForEachSeries(node, from_ns, to_ns, visit, damaged);
}

absl::Status StoreSource::ForEachLine(storage::Tier tier, uint8_t vital, uint64_t from_ns,
                                      uint64_t to_ns, const storage::Reader::LineVisitor& visit,
                                      const storage::DamagedVisitor& damaged,
                                      const std::vector<uint32_t>& groups) const {
  return reader_->ForEachLine(tier, vital, from_ns, to_ns, visit, damaged, groups);
}

absl::Status StoreSource::ForEachRollup(storage::Tier tier, uint32_t node, uint64_t from_ns,
                                        uint64_t to_ns, const storage::RollupParts& parts,
                                        const storage::Reader::RollupVisitor& visit,
                                        const storage::DamagedVisitor& damaged) const {
  return reader_->ForEachRollup(tier, node, from_ns, to_ns, parts, visit, damaged);
}

std::vector<storage::DirtyKey> StoreSource::Dirty(uint32_t node, uint64_t from_ns,
                                                  uint64_t to_ns) const {
  return reader_->Dirty(node, from_ns, to_ns);
}

absl::StatusOr<std::vector<storage::DirtyLineKey>> StoreSource::DirtyLines(storage::Tier tier,
                                                                           uint64_t from_ns,
                                                                           uint64_t to_ns) const {
  return reader_->DirtyLines(tier, from_ns, to_ns);
}

uint64_t StoreSource::RawFloorNs() const { return reader_->RawFloorNs(); }

uint64_t StoreSource::Stamp(const std::vector<uint32_t>& groups, uint64_t from_ns,
                            uint64_t to_ns) const {
  return reader_->Stamp(groups, from_ns, to_ns);
}

absl::StatusOr<std::vector<storage::StoreSizeRow>> StoreSource::Sizes() const {
  return reader_->Sizes();
}

uint64_t StoreSource::DirtyWindows() const { return reader_->DirtyWindows().value_or(0); }

uint64_t StoreSource::StoredSummaries() const { return reader_->StoredSummaries(); }

}  // namespace telltale::query
