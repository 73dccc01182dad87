// What /metrics is made of: plain figures handed in by those who keep them, one function each, so
// that the page needs no store, no ingest and no filters to be tested. store_figures.h makes the
// first from a Store.
//
// The functions are called on a worker thread of the web server, several scrapes may overlap.

#ifndef TELLTALE_COLLECTOR_METRICS_FIGURES_H_
#define TELLTALE_COLLECTOR_METRICS_FIGURES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sketch/vitals.h"
#include "telltale/v1/store.pb.h"

namespace telltale::metrics {

// Cumulative since the node was first heard of.
struct SubFigure {
  uint8_t vital = 0;
  uint8_t sub = 0;
  uint64_t weight = 0;  // in the vital's stored unit
};

struct NodeFigures {
  uint32_t number = 0;  // stable, identifies the node between scrapes
  std::string name;
  std::string group;  // label `group`; empty: default
  v1::NodeState state = v1::NODE_STATE_UNSPECIFIED;
  uint32_t epoch_length_s = 0;
  uint64_t last_epoch_ns = 0;
  uint64_t epochs = 0;  // received and counted
  uint64_t epochs_missing = 0;
  uint64_t epochs_too_late = 0;
  uint64_t epochs_apart = 0;
  uint64_t epochs_adopted = 0;
  uint64_t agent_cpu_ns = 0;
  std::vector<uint64_t> part_cpu_ns;  // by v1.SensorPart
  std::vector<uint32_t> part_level;
  uint32_t cost_ppm = 0;  // of the host in the latest epoch, as storage::NodeCounters
  uint32_t limit_ppm = 0;
  std::vector<SubFigure> subs;
  std::vector<std::pair<uint32_t, uint64_t>> losses;              // v1.LossReason, events
  std::vector<std::pair<uint32_t, uint64_t>> user_stacks;         // v1.StackEnd, samples
  std::vector<std::pair<uint32_t, uint64_t>> user_frames;         // v1.NameOutcome, frames
  std::vector<std::pair<uint32_t, v1::VitalState>> vital_states;  // by vital id
};

// What a vital is called, for those that sketch/vitals.h does not know.
struct VitalNames {
  uint8_t id = 0;
  std::string name;
  sketch::Unit unit = sketch::Unit::kCalls;
  std::string about;
  std::vector<std::pair<std::string, bool>> subs;  // name, idle
};

struct HistogramFigures {
  std::vector<double> upper;     // upper bounds in base units, ascending, without +Inf
  std::vector<uint64_t> counts;  // per bucket (not cumulative), one more than `upper`
  double sum = 0;
};

struct IngestFigures {
  HistogramFigures ack_seconds;
  uint32_t spread_s = 0;
  std::vector<std::pair<std::string, uint64_t>> refused;  // by reason
  uint64_t clone_conflicts = 0;
  uint64_t clone_decisions = 0;
  uint64_t implausible = 0;
  uint64_t rollup_errors = 0;
  uint64_t windows_expired = 0;
};

// Of a filter that runs in a process of its own.
struct UserFilterFigures {
  bool disabled = false;
  uint64_t failures = 0;
  double cpu_s = 0;
  uint64_t memory_bytes = 0;
};

struct FilterFigures {
  std::string filter;
  double lag_s = 0;
  uint64_t skipped = 0;
  uint64_t unreadable = 0;
  uint64_t dropped = 0;
  std::optional<UserFilterFigures> user;
  std::vector<std::pair<std::string, uint64_t>> anomalies;  // by vital, cumulative
};

struct IncidentFigures {
  uint64_t open = 0, acknowledged = 0, silenced = 0;
  struct Alertmanager {
    std::string url;
    uint64_t posts = 0, failures = 0;
  };
  std::vector<Alertmanager> alertmanagers;
};

struct StoreFigures {
  std::vector<std::pair<std::string, uint64_t>> bytes;  // by family
  uint64_t dirty_windows = 0;
  std::vector<std::pair<std::string, uint64_t>> unreadable = {};  // reads that failed, by family
  uint64_t names_contradicted = 0;
};

// Of the file system that holds the data directory.
struct DiskFigures {
  uint64_t free_bytes = 0;  // for the collector, without what is set aside for root
  uint64_t size_bytes = 0;
};

struct AnswerCacheFigures {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t evictions = 0;
  uint64_t bytes = 0;
};

struct HttpFigures {
  uint64_t connections = 0;
  std::vector<std::pair<std::string, uint64_t>> answers;  // "2xx" ...
  std::vector<std::pair<std::string, uint64_t>> refused;  // by reason
};

struct GrpcFigures {
  uint64_t connections = 0, waiting = 0;                  // the latter at the door, before TLS
  std::vector<std::pair<std::string, uint64_t>> refused;  // by reason
};

struct EnrollFigures {
  std::vector<std::pair<std::string, uint64_t>> outcomes;  // since the collector's start
  uint64_t waiting = 0;                                    // for an operator, now
};

// Absent functions leave their families without samples.
struct MetricSources {
  std::function<void(const std::function<void(const NodeFigures&)>&)> for_each_node;
  std::function<std::vector<VitalNames>()> local_vitals;
  std::function<IngestFigures()> ingest;
  std::function<std::vector<FilterFigures>()> filters;
  std::function<IncidentFigures()> incidents;
  std::function<StoreFigures()> store;
  std::function<std::optional<DiskFigures>()> disk;  // none: could not be asked
  // Whose certificate ends when, in Unix seconds.
  std::function<std::vector<std::pair<std::string, uint64_t>>()> certificate_ends;
  // When the first of the revocation lists should have made way for its next, in Unix seconds.
  std::function<std::optional<uint64_t>()> crl_next_update;
  std::function<AnswerCacheFigures()> answer_cache;
  std::function<HttpFigures()> http;
  std::function<GrpcFigures()> grpc;
  std::function<EnrollFigures()> enroll;
  std::function<bool()> store_writable;            // whether summaries are stored at present
  std::function<uint64_t()> maintenance_failures;  // since the collector's start
  // How anomalous a node was of late; decides who is shown above the limit.
  std::function<uint64_t(uint32_t node)> recent_anomalies;
  std::string process_dir = "/proc/self";
  std::string version;
};

}  // namespace telltale::metrics

#endif  // TELLTALE_COLLECTOR_METRICS_FIGURES_H_
