// Where filters' epochs come from: the stored ones, opened. An interface, so that filters are
// tested without a database; StoreEpochSource is the real one.
//
// Thread-safe; outlives the runner.

#ifndef TELLTALE_COLLECTOR_FILTER_EPOCH_SOURCE_H_
#define TELLTALE_COLLECTOR_FILTER_EPOCH_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "proto/body_parts.h"
#include "storage/fresh_bodies.h"
#include "storage/placement.h"
#include "storage/reader.h"
#include "telltale/v1/store.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::filter {

struct NodeHead {
  uint32_t number = 0;
  std::string name;
  uint64_t epochs = 0;  // counted since the node was first heard of
  uint32_t epoch_length_s = 60;
  uint64_t first_epoch_ns = 0;
  uint64_t last_epoch_ns = 0;     // end of the latest
  uint64_t last_received_ns = 0;  // when the last summary came
  v1::NodeState state = v1::NODE_STATE_UNSPECIFIED;
  std::string machine;  // "x86_64"; empty: not told
  std::string kernel_release;
  std::string role;   // its label `role`; empty: none
  std::string scope;  // the cgroup that its agent watches; empty: the whole host
};

using NodeNames = std::set<std::string_view>;  // where a question takes them, none are any

class StableIds;

// One stored epoch; pointers live as long as the visit.
struct SourceEpoch {
  storage::EpochSpan span;  // collector's clock
  uint64_t sequence = 0;
  const v1::SummaryBody* body = nullptr;
  const v1::Schema* schema = nullptr;  // describes the body's vitals
  StableIds* ids = nullptr;            // of its labels, for all filters; null: each makes its own
};

// The sums of one hour.
struct SourceHour {
  const v1::RollupWindow* window = nullptr;
  const v1::Schema* schema = nullptr;
};

class EpochSource {
 public:
  virtual ~EpochSource() = default;
  virtual std::vector<NodeHead> Nodes() const = 0;
  // Counted epochs that begin in [from, to), ascending by start; perhaps also one that only reaches
  // into it. False ends it.
  using Visitor = std::function<bool(const SourceEpoch& epoch)>;
  virtual absl::Status ForEach(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                               const Visitor& visit) const = 0;
  // As ForEach. Where one is stored that cannot be opened, `unreadable` is told when it starts; of
  // several in a row in one damaged block that the first does.
  using Unreadable = std::function<void(uint64_t start_ns)>;
  virtual absl::Status ForEachStored(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                     const Visitor& visit, const Unreadable&) const {
    return ForEach(node, from_ns, to_ns, visit);
  }
  // Those whose middle lies in it, perhaps also others that overlap it, for who needs totals and
  // processes only: bodies may come without all else.
  virtual absl::Status ForEachAccount(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                      const Visitor& visit) const {
    return ForEach(node, from_ns, to_ns, visit);
  }
  // Shows the sums of the hour that begins at start_ns; false: there are none.
  using HourVisitor = std::function<void(const SourceHour& hour)>;
  virtual bool Hour(uint32_t node, uint64_t start_ns, const HourVisitor& visit) const = 0;
};

class StoreEpochSource : public EpochSource {
 public:
  // Both outlive it. `fresh`: bodies that need not be opened again; may be null.
  explicit StoreEpochSource(const storage::Reader* reader, storage::FreshBodies* fresh = nullptr)
      : reader_(reader), fresh_(fresh) {}
  std::vector<NodeHead> Nodes() const override;
  absl::Status ForEach(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                       const Visitor& visit) const override;
  absl::Status ForEachStored(uint32_t node, uint64_t from_ns, uint64_t to_ns, const Visitor& visit,
                             const Unreadable& unreadable) const override;
  absl::Status ForEachAccount(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                              const Visitor& visit) const override;
  bool Hour(uint32_t node, uint64_t start_ns, const HourVisitor& visit) const override;

 private:
  // Of the rows that overlap the range, those that are wanted are opened.
  using Wanted = std::function<bool(const storage::EpochSpan& span)>;
  absl::Status Read(uint32_t node, uint64_t from_ns, uint64_t to_ns, const Wanted& wanted,
                    const proto::BodyParts& parts, const Visitor& visit,
                    const Unreadable& unreadable) const;

  // The body of a row, taken or opened; empty: it cannot be opened.
  proto::OpenBody Body(const storage::RawRow& row, const v1::Schema& schema,
                       const proto::BodyParts& parts) const;

  const storage::Reader* const reader_;
  storage::FreshBodies* const fresh_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_EPOCH_SOURCE_H_
