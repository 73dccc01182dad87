#include "collector/part_options.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "sketch/time_units.h"
#include "telltale_version.h"

namespace telltale::collector {
namespace {

constexpr uint64_t kSecondsPerDay = 86400;
constexpr uint64_t kSecondsPerHour = 3600;
constexpr unsigned kMostShards = 8;
// A summary waits no longer for the windows its shard computes, and for what is left of the last.
constexpr uint64_t kRollupTurnNs = 20 * kNsPerMs;

uint32_t RoundedUp(uint64_t seconds, uint64_t unit) {
  return static_cast<uint32_t>((seconds + unit - 1) / unit);
}

}  // namespace

storage::StoreOptions StoreOptionsOf(const Config& config) {
  storage::StoreOptions options;
  options.roller.turn_ns = kRollupTurnNs;
  options.path = config.data + "/store";
  options.max_nodes = config.ingest_max_nodes;
  options.max_name_bytes_per_node = config.ingest_names_bytes;
  options.retention.raw_days = RoundedUp(config.retention_raw_s, kSecondsPerDay);
  options.retention.cells_hours = RoundedUp(config.retention_cells_s, kSecondsPerHour);
  options.retention.five_minute_days = RoundedUp(config.retention_5min_s, kSecondsPerDay);
  options.retention.hour_days = RoundedUp(config.retention_1h_s, kSecondsPerDay);
  options.retention.day_days = RoundedUp(config.retention_1d_s, kSecondsPerDay);
  options.retention.max_raw_bytes = config.retention_raw_bytes;
  options.retention.max_five_minute_bytes = config.retention_5min_bytes;
  options.retention.max_hour_bytes = config.retention_1h_bytes;
  options.retention.max_day_bytes = config.retention_1d_bytes;
  options.retention.max_bytes = config.retention_max_bytes;
  return options;
}

ingest::IngestSettings IngestSettingsOf(const Config& config) {
  ingest::IngestSettings settings;
  settings.spread_s = config.ingest_spread_s;
  settings.max_in_flight = config.ingest_in_flight;
  settings.max_in_flight_bytes = static_cast<uint32_t>(config.ingest_in_flight_bytes);
  settings.max_summary_bytes = static_cast<uint32_t>(config.ingest_summary_bytes);
  settings.backlog_per_s = config.ingest_backlog_per_s;
  settings.node_bytes_per_day = config.ingest_node_bytes_per_day;
  settings.max_future_ns = config.ingest_max_future_s * kNsPerS;
  return settings;
}

ingest::IngestOptions IngestOptionsOf(const Config& config) {
  ingest::IngestOptions options;
  options.shards = config.ingest_shards != 0
                       ? config.ingest_shards
                       : std::clamp(std::thread::hardware_concurrency(), 1u, kMostShards);
  options.queue_bytes = config.ingest_queue_bytes;
  options.version = TELLTALE_VERSION;
  return options;
}

TlsFiles TlsFilesOf(const Config& config) {
  return {.ca = config.tls_ca, .cert = config.tls_cert, .key = config.tls_key};
}

}  // namespace telltale::collector
