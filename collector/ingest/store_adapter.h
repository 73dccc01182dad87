// The real store behind ingest's interface. Owned by the collector, outlives ingest; thread rules
// of IngestStore.

#ifndef TELLTALE_COLLECTOR_INGEST_STORE_ADAPTER_H_
#define TELLTALE_COLLECTOR_INGEST_STORE_ADAPTER_H_

#include <memory>
#include <string>
#include <vector>

#include "collector/ingest/ingest_store.h"
#include "storage/store.h"

namespace telltale::ingest {

class StoreAdapter final : public IngestStore {
 public:
  explicit StoreAdapter(storage::Store* store) : store_(store) {}

  std::string StoreId() const override;
  storage::NodeList Nodes() const override;
  std::optional<storage::NodeRecord> Find(uint32_t node) const override;
  absl::StatusOr<uint32_t> NumberOf(const std::string& name) override;
  absl::Status UpdateNode(uint32_t node, storage::Durability durability,
                          const std::function<void(storage::NodeRecord&)>& change) override;
  absl::StatusOr<std::vector<storage::Outcome>> PutBatch(
      std::span<const storage::Incoming> batch) override;
  void KeepBody(uint32_t node, const storage::Incarnation& incarnation, uint64_t sequence,
                proto::OpenBody body) override;
  absl::Status DeclareLost(uint32_t node, const storage::Incarnation& incarnation,
                           const storage::LostRange& lost) override;
  absl::Status RecordStop(uint32_t node, const storage::PlannedStop& stop) override;
  absl::Status Decided(uint32_t node) override;
  absl::Status PutNames(uint32_t node, const v1::Names& names) override;
  absl::Status PutSchema(uint32_t node, const v1::Schema& schema) override;
  uint64_t ReceivedThrough(uint32_t node, const storage::Incarnation& incarnation) const override;
  absl::StatusOr<std::shared_ptr<const v1::Schema>> Schema(uint64_t id) const override;
  absl::StatusOr<uint32_t> RollUp(std::span<const uint32_t> nodes, uint64_t now_ns,
                                  uint32_t max_windows, uint64_t* expired) override;

 private:
  storage::Store* const store_;
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_STORE_ADAPTER_H_
