// Every node the store ever heard of: its number (short, stable, never reused; it stands in all
// keys) and its record. Owned by the Store, kept in memory and in the catalog.
//
// Thread-safe. A record is changed only by the thread that owns the node (its shard); anybody may
// read.

#ifndef TELLTALE_STORAGE_NODE_REGISTRY_H_
#define TELLTALE_STORAGE_NODE_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/keys.h"
#include "storage/node_list.h"

namespace telltale::storage {

class NodeRegistry {
 public:
  static constexpr size_t kMaxRemarks = 16;       // a node; the oldest make room and are counted
  static constexpr size_t kMaxIncarnations = 64;  // a node; the longest unseen is forgotten

  // Loads all records. `max_nodes` bounds memory and numbers.
  static absl::StatusOr<std::unique_ptr<NodeRegistry>> Open(Catalog* catalog, size_t max_nodes);

  // The number of a node; a new name gets the next one, durable with whatever is committed durably
  // after it. InvalidArgument: not a valid name; ResourceExhausted: max_nodes reached.
  absl::StatusOr<uint32_t> NumberOf(std::string_view name);

  std::optional<NodeRecord> Find(std::string_view name) const;
  std::optional<NodeRecord> Find(uint32_t number) const;
  SharedNode Get(uint32_t number) const;  // null: no such number
  NodeList List() const;                  // ascending by number
  size_t size() const;

  // Changes a record and commits it. NotFound: no such number. The change is visible once
  // committed.
  absl::Status Update(uint32_t number, Durability durability,
                      const std::function<void(NodeRecord&)>& change);

  // As Update, but as a part of a larger commit: Stage() writes the changed record into
  // `transaction` and returns it; call Publish() with it after the commit succeeded.
  absl::StatusOr<NodeRecord> Stage(uint32_t number, Transaction* transaction,
                                   const std::function<void(NodeRecord&)>& change) const;
  void Publish(NodeRecord record);

  // Adds or counts up a remark ("3600.0 s ahead of the collector's"); used inside change functions.
  // Of overlaps and clock steps, whose texts name times and amounts, the latest stands for all.
  static void AddRemark(NodeRecord& record, v1::RemarkKind kind, std::string_view text,
                        uint64_t now_ns);
  // The incarnation's entry in the record; new ones begin as `status`.
  static v1::KnownIncarnation& IncarnationOf(NodeRecord& record, const Incarnation& incarnation,
                                             v1::IncarnationStatus status_if_new, uint64_t now_ns);

 private:
  NodeRegistry(Catalog* catalog, size_t max_nodes);

  Catalog* const catalog_;
  const size_t max_nodes_;
  mutable std::mutex mutex_;
  std::map<std::string, uint32_t, std::less<>> numbers_;  // guarded by mutex_
  std::vector<SharedNode> records_;                       // guarded by mutex_; [number - 1]
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_NODE_REGISTRY_H_
