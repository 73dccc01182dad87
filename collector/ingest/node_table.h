// The nodes of one shard: who is connected, who reports, who fell silent. Owned by the shard; shard
// thread only. What others may know of a node stands in the store's registry; this is what the
// shard needs at hand.

#ifndef TELLTALE_COLLECTOR_INGEST_NODE_TABLE_H_
#define TELLTALE_COLLECTOR_INGEST_NODE_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/ingest/byte_budget.h"
#include "collector/ingest/clone_watch.h"
#include "collector/ingest/epoch_order.h"
#include "collector/ingest/ingest_store.h"
#include "collector/ingest/session.h"

namespace telltale::ingest {

struct NodeEntry {
  NodeEntry(std::string node_name, uint32_t node_number, const CloneWatch::Options& options)
      : name(std::move(node_name)), number(node_number), clones(options) {}

  const std::string name;
  const uint32_t number;
  CloneWatch clones;
  std::map<uint64_t, std::shared_ptr<Session>> streams;  // by session id; greeted and open
  v1::NodeState state = v1::NODE_STATE_NEVER;
  uint64_t heard_mono_ns = 0;  // when the last epoch or Hello came
  uint32_t epoch_length_s = 60;
  // Of all its streams, so that who begins a new one after each flood gains nothing.
  uint64_t flood_since_mono_ns = 0;  // messages are counted from here
  uint32_t flood_messages = 0;
  ByteBudget bytes;  // of all its streams and incarnations
  EpochOrder order;  // of what is counted
};

class NodeTable {
 public:
  NodeTable(IngestStore* store, const CloneWatch::Options& options)
      : store_(store), options_(options) {}

  // Takes over a node the store knows from before; a reporting one is given its time anew.
  void Load(const storage::NodeRecord& record, uint64_t mono_ns);
  // The entry of a node; a new one gets a number from the store.
  absl::StatusOr<NodeEntry*> Obtain(const std::string& name);
  NodeEntry* Find(const std::string& name);

  size_t Reporting() const;
  // Reporting nodes not heard of for three epochs and the spread.
  std::vector<NodeEntry*> FallenSilent(uint64_t mono_ns, uint32_t spread_s);

  std::map<std::string, std::unique_ptr<NodeEntry>>& entries() { return entries_; }
  const std::vector<uint32_t>& numbers() const { return numbers_; }  // ascending

 private:
  IngestStore* const store_;
  const CloneWatch::Options options_;
  NodeEntry* Add(std::unique_ptr<NodeEntry> entry);

  std::map<std::string, std::unique_ptr<NodeEntry>> entries_;
  std::vector<uint32_t> numbers_;
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_NODE_TABLE_H_
