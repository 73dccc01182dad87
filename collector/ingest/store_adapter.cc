#include "collector/ingest/store_adapter.h"

#include <utility>

namespace telltale::ingest {

std::string StoreAdapter::StoreId() const { return store_->store_id(); }

storage::NodeList StoreAdapter::Nodes() const { return store_->nodes().List(); }

std::optional<storage::NodeRecord> StoreAdapter::Find(uint32_t node) const {
  return store_->nodes().Find(node);
}

absl::StatusOr<uint32_t> StoreAdapter::NumberOf(const std::string& name) {
  return store_->nodes().NumberOf(name);
}

absl::Status StoreAdapter::UpdateNode(uint32_t node, storage::Durability durability,
                                      const std::function<void(storage::NodeRecord&)>& change) {
  return store_->nodes().Update(node, durability, change);
}

absl::StatusOr<std::vector<storage::Outcome>> StoreAdapter::PutBatch(
    std::span<const storage::Incoming> batch) {
  return store_->summaries().PutBatch(batch);
}

void StoreAdapter::KeepBody(uint32_t node, const storage::Incarnation& incarnation,
                            uint64_t sequence, proto::OpenBody body) {
  store_->fresh_bodies().Put({node, incarnation, sequence}, std::move(body));
}

absl::Status StoreAdapter::DeclareLost(uint32_t node, const storage::Incarnation& incarnation,
                                       const storage::LostRange& lost) {
  return store_->summaries().DeclareLost(node, incarnation, lost);
}

absl::Status StoreAdapter::RecordStop(uint32_t node, const storage::PlannedStop& stop) {
  return store_->summaries().RecordStop(node, stop);
}

absl::Status StoreAdapter::Decided(uint32_t node) { return store_->summaries().Decided(node); }

absl::Status StoreAdapter::PutNames(uint32_t node, const v1::Names& names) {
  return store_->summaries().PutNames(node, names);
}

absl::Status StoreAdapter::PutSchema(uint32_t node, const v1::Schema& schema) {
  return store_->summaries().PutSchema(node, schema);
}

uint64_t StoreAdapter::ReceivedThrough(uint32_t node,
                                       const storage::Incarnation& incarnation) const {
  return store_->summaries().ReceivedThrough(node, incarnation);
}

absl::StatusOr<std::shared_ptr<const v1::Schema>> StoreAdapter::Schema(uint64_t id) const {
  return store_->reader().Schema(id);
}

absl::StatusOr<uint32_t> StoreAdapter::RollUp(std::span<const uint32_t> nodes, uint64_t now_ns,
                                              uint32_t max_windows, uint64_t* expired) {
  storage::SummaryStore& summaries = store_->summaries();
  uint32_t worked = 0;
  absl::Status first_error;
  const auto take = [&](const absl::StatusOr<uint32_t>& done) {
    first_error.Update(done.status());
    if (done.ok()) worked += *done;
    return done.value_or(0);
  };
  // Node by node: what cannot be done for one keeps none of the others waiting.
  uint32_t pruned = 0;
  uint32_t adopted = 0;
  for (const uint32_t& node : nodes) {
    if (pruned < max_windows) pruned += take(summaries.Prune({&node, 1}, 1));
    if (adopted < max_windows) adopted += take(summaries.AdoptDue({&node, 1}, 1));
  }
  take(store_->roller().RunDue(nodes, now_ns, max_windows, expired));
  if (!first_error.ok()) return first_error;
  return worked;
}

}  // namespace telltale::ingest
