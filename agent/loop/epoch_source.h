// The sensor with all that turns what it sees into finished epochs: resolver, folder, names,
// gauges, cutter. Owned and called by the sensor thread only.

#ifndef TELLTALE_AGENT_LOOP_EPOCH_SOURCE_H_
#define TELLTALE_AGENT_LOOP_EPOCH_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/epoch/epoch_cutter.h"
#include "agent/epoch/node_events.h"
#include "agent/epoch/sample_folder.h"
#include "agent/host/gauges.h"
#include "agent/host/host_names.h"
#include "agent/host/process_terms.h"
#include "agent/loop/live_seconds.h"
#include "agent/sensor/sensor.h"
#include "agent/spool/disk_writer.h"
#include "agent/symbols/name_book.h"
#include "agent/symbols/resolver.h"

namespace telltale::agent {

class EpochSource {
 public:
  struct Options {
    std::unique_ptr<Sensor> sensor;
    std::unique_ptr<Resolver> resolver;
    GaugeReader::Options gauges;
    // Where this host's files are, "" for "/", if the processes are its own.
    std::optional<std::string> host_root;
    EpochCutter::Options cutter;
    uint32_t length_s = 60;
    std::string boot_id;  // 16 bytes
    NodeEvents::AgentStart agent_start;
    std::string scope;  // empty: host
  };
  // What else a cut needs to know.
  struct Moment {
    v1::EpochKind kind = v1::EPOCH_KIND_FULL;
    EpochClock clock;
    uint64_t spool_bytes = 0, spool_records = 0;
    uint64_t unspooled = 0;  // epochs in memory only, because the disk does not take them
  };

  explicit EpochSource(Options options);

  // Loads the sensor. Its status is that of Sensor::Start.
  // Starting the sensor takes seconds on a busy host: gauges count from when it watches, not from
  // before.
  absl::Status Start();
  std::vector<VitalStatus> Status() const { return options_.sensor->Status(); }
  std::vector<SourceStatus> Sources() const { return options_.sensor->Sources(); }

  absl::Status Drain();
  // How long the next Drain may be put off from now.
  SensorRest Rest(uint64_t mono_ns);
  absl::StatusOr<FinishedEpoch> Cut(const Moment& moment);
  // The running epoch so far, for the crash journal. Leaves everything as it is.
  absl::StatusOr<v1::SummaryBody> Draft(const Moment& moment);
  // Until then each whole second is told.
  void WatchUntil(uint64_t mono_ns) { live_.WatchUntil(mono_ns); }
  // The newest whole second that was not told yet; nothing if there is none or nobody looks.
  absl::StatusOr<std::optional<v1::Live>> NewSecond(uint64_t mono_ns, int64_t wall_minus_mono_ns);
  // Another store answers, or records with names were dropped: names are sent again.
  void ForgetNamesSent() { names_.ForgetSent(); }

 private:
  CutContext Context(const Moment& moment) const;

  Options options_;
  NameBook names_;
  SampleFolder folder_;
  EpochCutter cutter_;
  NodeEvents node_events_;
  GaugeReader gauges_;
  std::optional<ProcessTermsReader> terms_;
  std::optional<HostNames> host_names_;
  LiveSeconds live_;
  uint32_t cut_us_ = 0;       // CPU time the cut before took
  uint64_t lost_events_ = 0;  // discrete ones, of epochs whose cut failed; for the next that is cut
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_LOOP_EPOCH_SOURCE_H_
