#include "collector/config.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/alert/web_address.h"
#include "config/values.h"

namespace telltale::collector {
namespace {

constexpr uint64_t kDay = 86400;
constexpr uint64_t kYear = 365 * kDay;
constexpr uint64_t kMiB = 1 << 20;
constexpr char kFilterNames[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
// Less would hold no day of a single node, and whole days go at a time.
constexpr uint64_t kLeastLimitBytes = 64 * kMiB;

// Filters make whole numbers of them.
constexpr double kMostOption = 1e15;
constexpr size_t kMostOptions = 128;

absl::Status CheckFilterOptions(const std::map<std::string, double>& options) {
  if (options.size() > kMostOptions) {
    return absl::InvalidArgumentError(absl::StrCat("must be ", kMostOptions, " at most"));
  }
  for (const auto& [key, value] : options) {
    const size_t dot = key.find('.');
    const bool named = dot != 0 && dot != std::string::npos && dot + 1 < key.size() &&
                       key.find_first_not_of(kFilterNames) == dot;
    if (!named || std::abs(value) > kMostOption) {
      return absl::InvalidArgumentError(
          "must be NAME.KEY=NUMBER pairs with commas between them: a filter's name, what it calls "
          "the number, and a number between -1e15 and 1e15");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLimits(const Config& config) {
  const std::pair<const char*, uint64_t> limits[] = {
      {"retention.raw_bytes", config.retention_raw_bytes},
      {"retention.5min_bytes", config.retention_5min_bytes},
      {"retention.1h_bytes", config.retention_1h_bytes},
      {"retention.1d_bytes", config.retention_1d_bytes},
      {"retention.max_bytes", config.retention_max_bytes}};
  for (const auto& [key, bytes] : limits) {
    if (bytes == 0 || bytes >= kLeastLimitBytes) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        key, ": ", config::FormatBytes(bytes),
        " holds less than a day of one node, and whole days go at a time; want 0 (no limit) or ",
        config::FormatBytes(kLeastLimitBytes), " and more"));
  }
  return absl::OkStatus();
}

}  // namespace

config::OptionTable CollectorOptions(Config& config) {
  config::OptionTable table("TELLTALE_COLLECTOR_");
  table.Address(
      {"listen.grpc", "HOST:PORT", "agents and the command line, gRPC with mutual TLS", false},
      config.listen_grpc);
  table.Address({"listen.https", "HOST:PORT", "web, REST, /metrics, /healthz, /readyz", false},
                config.listen_https);
  table.Address(
      {"listen.enroll", "HOST:PORT",
       "nodes that have no certificate yet (TLS without one); only with enroll.ca_cert", false},
      config.listen_enroll);
  table.Path({"data", "DIR", "everything stored; one collector at a time", false}, config.data,
             false);
  table.Path({"tls.ca", "FILE", "authorities that sign nodes, operators and viewers (PEM); watched",
              false},
             config.tls_ca, false);
  table.Path({"tls.cert", "FILE", "the collector's certificate and chain (PEM); watched", false},
             config.tls_cert, false);
  table.Path({"tls.key", "FILE", "its private key (PEM, not readable by others); watched", false},
             config.tls_key, false);
  table.Path(
      {"tls.crl", "FILE", "revocation lists of the authorities (PEM); empty: none; watched", true},
      config.tls_crl, true);
  table.Path(
      {"enroll.ca_cert", "FILE",
       "authority that signs nodes which enrol (PEM), tls.ca itself or one below it; read for "
       "each; empty: this collector signs nobody",
       false},
      config.enroll_ca_cert, true);
  table.Path({"enroll.ca_key", "FILE", "its private key (PEM, not readable by others)", false},
             config.enroll_ca_key, true);
  table.Seconds(
      {"enroll.validity", "DURATION", "of what it signs; agents renew when a third is left", false},
      config.enroll_validity_s, 20, 2 * kYear);
  table.Switch({"enroll.by_hand", "BOOL",
                "who has no token may wait for an operator: telltale enroll approve", false},
               config.enroll_by_hand);
  table.Seconds({"retention.raw", "DURATION", "epochs with their samples", false},
                config.retention_raw_s, kDay, 100 * kYear);
  table.Seconds({"retention.5min", "DURATION", "5 minute windows", false}, config.retention_5min_s,
                kDay, 100 * kYear);
  table.Seconds({"retention.1h", "DURATION", "1 hour windows", false}, config.retention_1h_s, kDay,
                100 * kYear);
  table.Seconds({"retention.1d", "DURATION", "1 day windows", false}, config.retention_1d_s, kDay,
                100 * kYear);
  table.Seconds({"retention.cells", "DURATION",
                 "sketch cells, of agents whose uplink.cells sends them", false},
                config.retention_cells_s, kDay, kYear);
  const std::pair<const char*, uint64_t*> tiers[] = {
      {"retention.raw_bytes", &config.retention_raw_bytes},
      {"retention.5min_bytes", &config.retention_5min_bytes},
      {"retention.1h_bytes", &config.retention_1h_bytes},
      {"retention.1d_bytes", &config.retention_1d_bytes}};
  for (const auto& [key, bytes] : tiers) {
    table.Bytes({key, "BYTES",
                 "of this tier, its oldest goes first; 64MiB or more; 0: by age alone", false},
                *bytes, 0, 1ull << 50);
  }
  table.Bytes({"retention.max_bytes", "BYTES",
               "all tiers together, oldest raw goes first, by whole days; files give the space "
               "back a little later; 64MiB or more; 0: by age alone",
               false},
              config.retention_max_bytes, 0, 1ull << 50);
  table.Number(
      {"ingest.shards", "N", "threads that own the nodes; 0: one per CPU, at most 8", false},
      config.ingest_shards, 0, 64);
  table.Bytes({"ingest.queue_bytes", "BYTES",
               "waiting in one shard; beyond it streams are not read", false},
              config.ingest_queue_bytes, kMiB, 1ull << 34);
  table.Seconds({"ingest.spread", "DURATION",
                 "agents send within this after the cut, and within less while they are few: "
                 "about 1s for each 80",
                 true},
                config.ingest_spread_s, 0, 60);
  table.Number({"ingest.in_flight", "N", "summaries of one node without a verdict", true},
               config.ingest_in_flight, 1, 64);
  table.Bytes(
      {"ingest.in_flight_bytes", "BYTES", "of one node's summaries without a verdict", true},
      config.ingest_in_flight_bytes, 256 << 10, 16 * kMiB);
  table.Bytes({"ingest.summary_bytes", "BYTES", "largest body, compressed", true},
              config.ingest_summary_bytes, 16 << 10, 256 << 10);
  table.Number({"ingest.backlog_per_s", "N", "old summaries one node sends in a second", true},
               config.ingest_backlog_per_s, 1, 1000);
  table.Bytes({"ingest.node_bytes_per_day", "BYTES",
               "summaries of one node that are stored; four days' worth at once, as after an "
               "outage",
               true},
              config.ingest_node_bytes_per_day, kMiB, 1ull << 40);
  table.Seconds({"ingest.max_future", "DURATION",
                 "epochs that end later than this from now stay in the agent", true},
                config.ingest_max_future_s, 1, 3600);
  table.Number({"ingest.max_nodes", "N", "nodes this collector accepts", false},
               config.ingest_max_nodes, 1, 1000000);
  table.Bytes({"ingest.names_bytes", "BYTES", "symbol names one node may add in a week", false},
              config.ingest_names_bytes, 64 << 10, 1ull << 30);
  table.Seconds(
      {"ingest.connection_age", "DURATION",
       "a connection is renewed after this, so certificates are checked again; HTTPS too", false},
      config.ingest_connection_age_s, 10, 7 * kDay);
  table.Number({"filters.learn", "EPOCHS", "of a node, before rules speak of it", false},
               config.filters_learn, 2, 1440);
  table.Bytes(
      {"query.cache_bytes", "BYTES", "answers kept for the next who asks the same; 0: none", false},
      config.query_cache_bytes, 0, 1ull << 34);
  table.Path({"filters.dir", "DIR",
              "your own filters, NAME.so each; looked at all the time; empty: none", false},
             config.filters_dir, true);
  table.Bytes(
      {"filters.memory_bytes", "BYTES", "memory of one of them; beyond it allocations fail", false},
      config.filters_memory_bytes, 16 * kMiB, 1ull << 36);
  table.Seconds(
      {"filters.cpu", "DURATION",
       "processor time of one of them for one epoch of one node; beyond it it is disabled for "
       "a while",
       false},
      config.filters_cpu_s, 1, 600);
  table.Seconds(
      {"filters.wait", "DURATION",
       "time one of them may take for one epoch of one node, waiting included; beyond it it is "
       "disabled for a while",
       false},
      config.filters_wait_s, 1, 3600);
  table.Numbers(
      {"filters.options", "NAME.KEY=NUMBER,...",
       "what filters, built-in or your own, are told: of filter NAME the number KEY", false},
      config.filters_options, CheckFilterOptions);
  table.Text(
      {"incidents.hints", "NAME,NAME",
       "filters that say that something is unusual, not that anything is wrong: they begin "
       "no incident, but stand in one; empty: each anomaly begins one",
       false},
      config.incidents_hints, [](const std::string& text) {
        return text.find_first_not_of(absl::StrCat(kFilterNames, ",")) == std::string::npos
                   ? absl::OkStatus()
                   : absl::InvalidArgumentError("must be names of filters, separated by commas");
      });
  const auto addresses = [](const std::string& text) {
    return alert::ParseWebAddresses(text).status();
  };
  table.Text({"incidents.alertmanager", "URL,URL",
              "Alertmanagers that are told of open incidents (API v2); empty: none", false},
             config.incidents_alertmanager, addresses);
  table.Path({"incidents.alertmanager_ca", "FILE",
              "authorities of their certificates (PEM); empty: the system's", false},
             config.incidents_alertmanager_ca, true);
  table.Path({"incidents.alertmanager_cert", "FILE",
              "certificate to show them (PEM); empty: none is shown", false},
             config.incidents_alertmanager_cert, true);
  table.Path({"incidents.alertmanager_key", "FILE", "its private key (PEM)", false},
             config.incidents_alertmanager_key, true);
  table.Seconds({"incidents.alertmanager_repeat", "DURATION",
                 "they are told again; less than Alertmanager's resolve_timeout (5min)", false},
                config.incidents_alertmanager_repeat_s, 1, 3600);
  table.Text(
      {"incidents.url", "URL",
       "where people reach this collector, for links in alerts; empty: by the host's name", false},
      config.incidents_url, addresses);
  table.Number({"metrics.per_node_limit", "N", "nodes with series of their own on /metrics", false},
               config.metrics_per_node_limit, 0, 100000);
  table.Switch({"http.metrics_public", "BOOL", "/metrics without a certificate", false},
               config.http_metrics_public);
  table.Number({"http.connections", "N", "HTTPS connections; more are closed at once", false},
               config.http_connections, 1, 65536);
  table.Number(
      {"http.connections_per_address", "N", "of one address; more are closed at once", false},
      config.http_connections_per_address, 1, 65536);
  table.Number({"http.answers", "N",
                "of one asker computed at the same time, his others wait; a thread each, and one "
                "for the others",
                false},
               config.http_answers, 1, 64);
  table.Bytes(
      {"http.header_bytes", "BYTES", "request line and headers together; beyond it 431", false},
      config.http_header_bytes, 4 << 10, kMiB);
  table.Bytes({"http.body_bytes", "BYTES", "of a request; beyond it 413 before it is read", false},
              config.http_body_bytes, 64 << 10, 64 * kMiB);
  table.Seconds({"http.handshake", "DURATION", "until TLS is agreed on; then disconnected", false},
                config.http_handshake_s, 1, 600);
  table.Seconds({"http.request", "DURATION",
                 "from the first byte of a request to its last; then disconnected", false},
                config.http_request_s, 1, 600);
  table.Seconds({"http.idle", "DURATION", "between two requests; then disconnected", false},
                config.http_idle_s, 1, 3600);
  table.Seconds({"http.write", "DURATION",
                 "for a reader to take each piece (64KiB) of an answer; then disconnected", false},
                config.http_write_s, 1, 600);
  table.Choice({"log.level", "LEVEL", "trace, debug, info, warning or error", true},
               config.log_level, {"trace", "debug", "info", "warning", "error"});
  table.Choice({"log.format", "FORMAT", "text or json, on standard error", true}, config.log_format,
               {"text", "json"});
  return table;
}

absl::StatusOr<LoadedConfig> LoadConfig(const config::Sources& sources) {
  LoadedConfig loaded;
  auto from = config::Load(CollectorOptions(loaded.values), sources);
  if (!from.ok()) return from.status();
  if (absl::Status status = CheckLimits(loaded.values); !status.ok()) return status;
  loaded.from = *std::move(from);
  return loaded;
}

std::string PrintConfig(const LoadedConfig& loaded) {
  Config values = loaded.values;
  return config::Print(CollectorOptions(values), loaded.from);
}

}  // namespace telltale::collector
