// Makes one node's epoch out of a recorded one: numbers with noise, times moved to where the epoch
// lies, process ids of the node's own, a share of stacks and of command names that no other node
// has, other build ids on some nodes. The same node and epoch give the same bytes every time, so a
// node need not keep what it has not sent yet. Immutable; any thread.

#ifndef TELLTALE_TESTS_FLEETSIM_REDRAW_H_
#define TELLTALE_TESTS_FLEETSIM_REDRAW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/spool/record.h"
#include "tests/fleetsim/recording.h"
#include "tests/fleetsim/redraw_tables.h"
#include "tests/fleetsim/traits.h"

namespace telltale::fleetsim {

struct RedrawOptions {
  uint32_t private_stacks_percent = 25;  // of each node's stacks
  uint32_t private_comms_percent = 20;   // of its command names
  uint32_t other_builds_percent = 12;    // of any 100 neighbours, by other builds than recorded
  uint32_t builds = 8;                   // different ones among these
  double label_sigma = 0.5;
};

// One epoch of a node, on its own clock.
struct CutEpoch {
  uint64_t sequence = 0;
  uint64_t start_unix_ns = 0, end_unix_ns = 0;
  uint64_t start_mono_ns = 0;
  uint32_t length_s = 60;
  int64_t clock_offset_ns = 0;
  uint64_t clock_error_ns = 0;
  uint64_t hlc = 0;
};

// What a body is to be found to hold.
struct DrawnTotals {
  double cpu_ns = 0;
  double syscalls = 0;
};

class Redraw {
 public:
  // `recording` outlives this.
  Redraw(const Recording* recording, const RedrawOptions& options)
      : recording_(*recording), options_(options) {}

  struct Drawn {
    agent::Record record;                  // names of frames that `named` does not have yet
    std::vector<uint32_t> new_names;       // their numbers, below NameCount()
    std::vector<uint64_t> stacks;          // identities of all stacks in it
    std::vector<uint64_t> private_stacks;  // of them, of the node's own
    DrawnTotals totals;
  };
  // `named`: by number, whether the node has sent the name; empty: none is wanted.
  absl::StatusOr<Drawn> Draw(const NodeTraits& node, const CutEpoch& epoch,
                             const std::vector<bool>& named) const;
  // Only what its summary holds.
  v1::SummaryBody DrawBody(const NodeTraits& node, const CutEpoch& epoch) const;

  // A place as recorded, and the same shifted in private stacks.
  size_t NameCount() const { return 2 * recording_.places().size(); }
  bool OtherBuilds(const NodeTraits& node) const;
  const v1::Schema& AnySchema() const;

 private:
  struct Body {
    v1::SummaryBody body;
    PrivateFrames frames;
  };
  Body BodyOf(const NodeTraits& node, const CutEpoch& epoch) const;
  const RecordedEpoch& Pick(const NodeTraits& node, uint64_t sequence) const;

  const Recording& recording_;
  const RedrawOptions options_;
};

// What a recorded process id is on the node with this seed.
uint32_t NodePid(uint64_t node_seed, uint32_t pid);

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_REDRAW_H_
