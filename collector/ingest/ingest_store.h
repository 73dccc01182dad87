// What ingest needs of the store, and no more: tests put a faulty one behind it. The real one is
// StoreAdapter. Calls about one node come from the shard thread that owns it; calls about different
// nodes at the same time.

#ifndef TELLTALE_COLLECTOR_INGEST_INGEST_STORE_H_
#define TELLTALE_COLLECTOR_INGEST_INGEST_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/open_body.h"
#include "storage/node_registry.h"
#include "storage/summary_store.h"

namespace telltale::ingest {

class IngestStore {
 public:
  virtual ~IngestStore() = default;

  virtual std::string StoreId() const = 0;
  virtual storage::NodeList Nodes() const = 0;
  virtual std::optional<storage::NodeRecord> Find(uint32_t node) const = 0;
  // A new name gets a number. ResourceExhausted: too many nodes.
  virtual absl::StatusOr<uint32_t> NumberOf(const std::string& name) = 0;
  virtual absl::Status UpdateNode(uint32_t node, storage::Durability durability,
                                  const std::function<void(storage::NodeRecord&)>& change) = 0;

  // As in storage/summary_store.h.
  virtual absl::StatusOr<std::vector<storage::Outcome>> PutBatch(
      std::span<const storage::Incoming> batch) = 0;
  // The body of a counted summary that was stored, for who would have to open it again.
  virtual void KeepBody(uint32_t, const storage::Incarnation&, uint64_t /*sequence*/,
                        proto::OpenBody) {}
  virtual absl::Status DeclareLost(uint32_t node, const storage::Incarnation& incarnation,
                                   const storage::LostRange& lost) = 0;
  virtual absl::Status RecordStop(uint32_t node, const storage::PlannedStop& stop) = 0;
  virtual absl::Status Decided(uint32_t node) = 0;
  virtual absl::Status PutNames(uint32_t node, const v1::Names& names) = 0;
  virtual absl::Status PutSchema(uint32_t node, const v1::Schema& schema) = 0;
  virtual uint64_t ReceivedThrough(uint32_t node,
                                   const storage::Incarnation& incarnation) const = 0;
  // NotFound: nobody ever sent it.
  virtual absl::StatusOr<std::shared_ptr<const v1::Schema>> Schema(uint64_t id) const = 0;

  // Brings at most `max_windows` windows of these nodes up to date, prunes the books of at most so
  // many and counts epochs that were apart of at most so many; returns how many of all, 0: nothing
  // is due. `expired` as in storage/rollup/roller.h.
  virtual absl::StatusOr<uint32_t> RollUp(std::span<const uint32_t> nodes, uint64_t now_ns,
                                          uint32_t max_windows, uint64_t* expired) = 0;
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_INGEST_STORE_H_
