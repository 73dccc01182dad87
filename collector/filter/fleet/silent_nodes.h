// A node that should report and does not: no goodbye, and nothing of it for three of its epochs and
// two minutes (agents spread what they send over up to 55 s). Time counts from the collector's
// start at the earliest: its own restart, or its own being away, is nobody's silence. It ends with
// the next summary, or with a goodbye.
//
// What is open survives a restart (state "fleet/silence"). Belongs to the runner's thread.

#ifndef TELLTALE_COLLECTOR_FILTER_FLEET_SILENT_NODES_H_
#define TELLTALE_COLLECTOR_FILTER_FLEET_SILENT_NODES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/fleet/fleet_outputs.h"
#include "storage/derived.h"
#include "telltale/v1/query.pb.h"

namespace telltale::filter {

class SilentNodes {
 public:
  static constexpr char kName[] = "silence";
  static constexpr uint32_t kVersion = 1;

  // Both outlive it. `now_ns`: the collector's start.
  SilentNodes(storage::DerivedStore* store, FleetOutputs* outputs, uint64_t now_ns);

  absl::Status Look(const std::vector<NodeHead>& nodes, uint64_t now_ns);
  bool IsOpen(const NodeNames& nodes) const;  // on one of them; none named: on any
  // Of those that were not listened to for long enough yet.
  std::vector<v1::FilterLearning> Learning(const std::vector<NodeHead>& nodes,
                                           uint64_t now_ns) const;

 private:
  struct Open {
    uint64_t start_ns = 0;       // end of its last epoch, or when it was heard after a goodbye
    uint64_t last_epoch_ns = 0;  // end of its last epoch
    std::string name;
    std::string text, evidence, against;
    uint64_t epochs = 0;  // that it had sent
  };
  struct Goodbye {
    uint64_t last_epoch_ns = 0, at_ns = 0;
  };
  absl::Status Tell(uint32_t node, const Open& open, bool goes_on, uint64_t now_ns);
  void Load();
  absl::Status Save();

  storage::DerivedStore* const store_;
  FleetOutputs* const outputs_;
  uint64_t since_ns_;              // the collector has been listening since
  uint64_t last_look_ns_;          // a gap between looks is its own absence, too
  uint64_t carried_hour_ = 0;      // in which what is open was noted
  std::map<uint32_t, Open> open_;  // by node
  // Of those whose silence ended with a goodbye, by node, until they send an epoch: the next
  // silence begins behind the same one, and is another.
  std::map<uint32_t, Goodbye> goodbyes_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FLEET_SILENT_NODES_H_
