// Configuration of the collector: one struct, filled from flags, environment, file and defaults
// (the first that has a value wins), all through one table of options. Read once at the start and
// again on SIGHUP, by the main thread; everybody else gets values, never this struct by reference.

#ifndef TELLTALE_COLLECTOR_CONFIG_H_
#define TELLTALE_COLLECTOR_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "config/load.h"
#include "config/options.h"

namespace telltale::collector {

struct Config {
  std::string listen_grpc =
      ":7410";  // host:port; an empty host is every interface, port 0 a free one
  std::string listen_https = ":7480";
  std::string listen_enroll = ":7430";  // only with enroll_ca_cert
  std::string data = "/var/lib/telltale";

  std::string tls_ca = "/etc/telltale/pki/ca.crt";
  std::string tls_cert = "/etc/telltale/pki/collector.crt";
  std::string tls_key = "/etc/telltale/pki/collector.key";
  std::string tls_crl;  // PEM revocation lists; empty: none

  // The authority that signs nodes which enrol; empty: this collector signs nobody.
  std::string enroll_ca_cert, enroll_ca_key;
  uint64_t enroll_validity_s = 45 * 86400ull;
  bool enroll_by_hand = false;  // who has no token may wait for an operator

  // Seconds. What is older is dropped by whole partitions.
  uint64_t retention_raw_s = 21 * 86400ull;
  uint64_t retention_5min_s = 60 * 86400ull;
  uint64_t retention_1h_s = 400 * 86400ull;
  uint64_t retention_1d_s = 5 * 365 * 86400ull;
  uint64_t retention_cells_s = 2 * 86400ull;
  // Bytes of one tier and of all; 0: by age alone.
  uint64_t retention_raw_bytes = 0;
  uint64_t retention_5min_bytes = 0;
  uint64_t retention_1h_bytes = 0;
  uint64_t retention_1d_bytes = 0;
  uint64_t retention_max_bytes = 0;

  uint32_t ingest_shards = 0;                 // 0: one per CPU, at most 8
  uint64_t ingest_queue_bytes = 64ull << 20;  // per shard; beyond it streams are not read
  uint32_t ingest_spread_s = 55;
  uint32_t ingest_in_flight = 16;
  uint64_t ingest_in_flight_bytes = 1 << 20;
  uint64_t ingest_summary_bytes = 256 << 10;
  uint32_t ingest_backlog_per_s = 10;
  uint64_t ingest_node_bytes_per_day = 256ull << 20;  // of summaries
  uint32_t ingest_max_future_s = 300;
  uint32_t ingest_max_nodes = 20000;
  uint64_t ingest_names_bytes = 16ull << 20;  // symbol names one node may add in a week
  uint32_t ingest_connection_age_s = 3600;

  uint32_t filters_learn = 30;  // epochs

  uint64_t query_cache_bytes = 64ull << 20;  // answers kept for the next who asks the same

  std::string filters_dir = "/etc/telltale/filters.d";  // empty: none
  uint64_t filters_memory_bytes = 256ull << 20;   // of one filter's process, on top of its own
  uint64_t filters_cpu_s = 1;                     // processor time for one epoch
  uint64_t filters_wait_s = 30;                   // until it must have replied
  std::map<std::string, double> filters_options;  // by "NAME.key"
  std::string incidents_hints = "affinity,ewma";  // filters, comma-separated
  std::string incidents_alertmanager;             // addresses, comma-separated; empty: none
  std::string incidents_alertmanager_ca, incidents_alertmanager_cert, incidents_alertmanager_key;
  uint32_t incidents_alertmanager_repeat_s = 60;
  std::string incidents_url;  // where people reach us; empty: https://, the host's name, the port

  uint32_t metrics_per_node_limit = 1000;
  bool http_metrics_public = false;
  uint32_t http_connections = 1024;
  uint32_t http_connections_per_address = 128;
  uint32_t http_answers = 2;  // of one asker computed at the same time
  uint64_t http_header_bytes = 16 << 10;
  uint64_t http_body_bytes = 1 << 20;
  uint32_t http_handshake_s = 10;
  uint32_t http_request_s = 10;
  uint32_t http_idle_s = 60;
  uint32_t http_write_s = 30;

  std::string log_level = "info";   // trace | debug | info | warning | error
  std::string log_format = "text";  // text | json
};

// Binds every key to its field; `config` must outlive the table. Environment variables begin with
// TELLTALE_COLLECTOR_, the default file is /etc/telltale/collector.yaml.
config::OptionTable CollectorOptions(Config& config);
inline constexpr const char* kDefaultConfigFile = "/etc/telltale/collector.yaml";

struct LoadedConfig {
  Config values;
  ::telltale::config::Loaded from;  // file read, and where each value came from
};

// As config::Load, into a fresh Config.
absl::StatusOr<LoadedConfig> LoadConfig(const config::Sources& sources);

// The effective configuration as YAML, each key with where its value came from and what it means.
std::string PrintConfig(const LoadedConfig& loaded);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_CONFIG_H_
