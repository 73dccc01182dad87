#include "collector/filter/epoch_source.h"

#include "collector/filter/epoch_view.h"
#include "proto/codec.h"
#include "storage/node_role.h"

namespace telltale::filter {

std::vector<NodeHead> StoreEpochSource::Nodes() const {
  std::vector<NodeHead> heads;
  for (const storage::NodeRecord& record : reader_->Nodes()) {
    NodeHead& head = heads.emplace_back();
    head.number = record.number();
    head.name = record.name();
    head.machine = record.info().machine();
    head.epochs = reader_->CountedEpochs(record.number());
    if (record.info().epoch_length_s() > 0) head.epoch_length_s = record.info().epoch_length_s();
    head.first_epoch_ns = record.first_epoch_ns();
    head.last_epoch_ns = record.last_epoch_ns();
    head.last_received_ns = record.last_received_ns();
    head.state = record.state();
    head.kernel_release = record.info().kernel_release();
    head.scope = record.info().scope();
    head.role = storage::RoleOf(record);
  }
  return heads;
}

// A reader that goes on from its last epoch overlaps that one, too: opening an epoch costs far more
// than all else here.
absl::Status StoreEpochSource::ForEach(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                       const Visitor& visit) const {
  return ForEachStored(node, from_ns, to_ns, visit, [](uint64_t) {});
}

absl::Status StoreEpochSource::ForEachStored(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                             const Visitor& visit,
                                             const Unreadable& unreadable) const {
  const auto begins = [&](const storage::EpochSpan& span) { return span.start_ns >= from_ns; };
  return Read(node, from_ns, to_ns, begins, {}, visit, unreadable);
}

absl::Status StoreEpochSource::ForEachAccount(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                              const Visitor& visit) const {
  const auto lies = [&](const storage::EpochSpan& span) {
    return span.middle_ns() >= from_ns && span.middle_ns() < to_ns;
  };
  return Read(node, from_ns, to_ns, lies, {proto::BodyParts::Depth::kAccounts, {}}, visit,
              [](uint64_t) {});
}

absl::Status StoreEpochSource::Read(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                    const Wanted& wanted, const proto::BodyParts& parts,
                                    const Visitor& visit, const Unreadable& unreadable) const {
  const auto open = [&](const storage::RawRow& row) {
    if (!wanted({.start_ns = row.key.start_ns, .end_ns = row.end_ns})) return true;
    const auto schema = reader_->Schema(row.summary.schema_id());
    const auto body = schema.ok() ? Body(row, **schema, parts) : proto::OpenBody();
    if (!body) {
      unreadable(row.key.start_ns);
      return true;
    }
    SourceEpoch epoch;
    epoch.span = storage::PlaceEpoch(body->epoch());
    epoch.sequence = row.key.sequence;
    epoch.body = &*body;
    epoch.schema = schema->get();
    StableIds ids;
    epoch.ids = &ids;
    return visit(epoch);
  };
  return reader_->ForEachRaw(node, from_ns, to_ns, open, [&](const storage::DamagedRow& row) {
    if (wanted({.start_ns = row.start_ns, .end_ns = row.end_ns})) unreadable(row.start_ns);
  });
}

proto::OpenBody StoreEpochSource::Body(const storage::RawRow& row, const v1::Schema& schema,
                                       const proto::BodyParts& parts) const {
  if (fresh_ != nullptr) {
    auto fresh = fresh_->Take({row.key.node, row.key.incarnation, row.key.sequence});
    if (fresh) return fresh;
  }
  auto decoded = proto::DecodeParts(row.summary, schema, parts);
  if (!decoded.ok()) return {};
  return std::move(decoded->body);
}

bool StoreEpochSource::Hour(uint32_t node, uint64_t start_ns, const HourVisitor& visit) const {
  bool shown = false;
  // Totals stand in the window itself; no vital's labels are read.
  const auto read = reader_->ForEachRollup(
      storage::Tier::k1Hour, node, start_ns, start_ns + 1, {0}, [&](const storage::RollupRow& row) {
        const auto schema = reader_->Schema(row.window.schema_id());
        if (!schema.ok()) return false;
        visit({.window = &row.window, .schema = schema->get()});
        shown = true;
        return false;
      });
  return read.ok() && shown;
}

}  // namespace telltale::filter
