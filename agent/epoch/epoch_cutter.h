// Builds what the node says about one epoch: the sensor's raw totals and the folded samples become
// a SummaryBody and its SketchCells, cut down to the byte bucket.
//
// Sums are never cut: totals, seconds, digests, knobs, losses and histograms always travel. What
// gives way, in this order: folded samples (least share of their vital first, three a vital stay;
// counted in folded_away), then discrete events and process rows together (events counted as
// LOSS_REASON_BYTE_LIMIT; rows go to `other`), then the last samples. Equal input gives equal
// bytes.
//
// Owned by the sensor thread, which calls it right after Sensor::Cut.

#ifndef TELLTALE_AGENT_EPOCH_EPOCH_CUTTER_H_
#define TELLTALE_AGENT_EPOCH_EPOCH_CUTTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/epoch/byte_bucket.h"
#include "agent/epoch/folded_epoch.h"
#include "agent/epoch/process_rows.h"
#include "agent/host/process_terms.h"
#include "agent/sensor/sensor.h"
#include "agent/symbols/resolver.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

// The node's clocks at the cut.
struct EpochClock {
  int64_t wall_minus_mono_ns = 0;  // CLOCK_REALTIME - CLOCK_MONOTONIC at the cut
  int64_t offset_ns = 0;           // collector's clock minus the node's
  uint64_t error_ns = 0;           // half width of the offset; 0: unknown
  uint64_t hlc = 0;                // hybrid logical clock at the end
};

// What the host is asked about what a body tells by number. What is empty is not asked.
struct HostAnswers {
  std::function<ProcessTerms(uint32_t pid)> terms;   // of a process with a row
  std::function<std::string(uint32_t uid)> user;     // empty: it has no name
  std::function<std::string(uint64_t device)> disk;  // of a dev_t
};

// What the cutter is told about an epoch besides the sensor's data.
struct CutContext {
  EpochClock clock;
  v1::EpochKind kind = v1::EPOCH_KIND_FULL;
  uint32_t length_s = 60;  // configured length
  std::string boot_id;     // 16 bytes
  uint64_t agent_start_unix_ns = 0;
  std::string scope;                // empty: host
  std::vector<VitalStatus> vitals;  // Sensor::Status
  v1::Gauges gauges;                // sensor_map_bytes is filled in here
  HostAnswers host;
  // False: a draft (crash journal). Takes no bytes of the bucket and is not fitted to it: of
  // samples it has as many as fitted when an epoch was cut last, and it keeps to the hard limit.
  bool spend = true;
};

struct CutResult {
  v1::SummaryBody body;
  v1::SketchCells cells;        // empty if the options say so
  size_t compressed_bytes = 0;  // of the body
  size_t budget_bytes = 0;      // what the bucket granted
  size_t folded_away = 0;       // entries cut to fit
};

class EpochCutter {
 public:
  struct Options {
    ByteBucket::Options bytes;
    bool cells = true;         // takes the sketch's cells along
    size_t max_samples = 400;  // folded entries a body, whatever the bucket holds
    size_t max_events = 128;
    ProcessRows::Options processes;
  };

  // `resolver` names executables and cgroups of process rows; it outlives the cutter.
  EpochCutter(const Options& options, Resolver& resolver);

  // `folded` may gain strings. InvalidArgument: the epoch is no interval, or lies before 1970.
  // ResourceExhausted: does not fit the hard limit even when cut to the bone. Internal: sums of the
  // process table do not agree.
  absl::StatusOr<CutResult> Cut(const RawEpoch& raw, FoldedEpoch& folded,
                                const CutContext& context);

 private:
  const Options options_;
  Resolver& resolver_;
  ByteBucket bucket_;
  size_t fitted_;  // folded entries that the last epoch cut had room for
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_EPOCH_CUTTER_H_
