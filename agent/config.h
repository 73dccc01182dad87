// Configuration of the agent: one struct, filled from flags, environment, file and defaults. Read
// once at the start and again on SIGHUP, by the main thread; everybody else gets values.

#ifndef TELLTALE_AGENT_CONFIG_H_
#define TELLTALE_AGENT_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "config/options.h"

namespace telltale::agent {

struct Config {
  std::string collector = "localhost:7410";

  std::string tls_ca = "/etc/telltale/pki/ca.crt";
  std::string tls_cert =
      "/etc/telltale/pki/node.crt";  // its URI SAN telltale://node/NAME names the node
  std::string tls_key = "/etc/telltale/pki/node.key";
  std::string
      tls_server_name;  // expected in the collector's certificate; empty: the host of `collector`

  // Where a certificate is asked for, host:port; empty: the host of `collector`, port 7430.
  std::string enroll_collector;
  bool enroll_renew = true;  // before the certificate ends

  uint32_t epoch_s = 60;
  std::map<std::string, std::string> labels;

  std::string spool_dir = "/var/lib/telltale/spool";
  uint64_t spool_max_bytes = 256ull << 20;

  std::string sensor_kind = "bpf";    // bpf | replay
  std::string sensor_scope = "host";  // host | cgroup:PATH
  double sensor_budget = 0.01;        // of the host's CPU time; 0: off
  uint64_t sensor_replay_seed = 1;

  std::string unwind_dir = "/var/lib/telltale/unwind";  // empty: tables are not kept
  uint64_t unwind_max_bytes = 64ull << 20;

  bool uplink_cells = false;
  uint64_t uplink_max_bytes_per_day = 0;  // 0: 13 KiB an epoch on average
  uint32_t uplink_reconnect_max_s = 60;   // longest pause between attempts, full jitter below it
  std::string run_as;                     // user of the uplink process; empty: as started

  std::string status_socket = "/run/telltale/agent.sock";
  std::string log_level = "info";
  std::string log_format = "text";
};

// Binds every key to its field; `config` must outlive the table. Environment variables begin with
// TELLTALE_AGENT_, the default file is /etc/telltale/agent.yaml.
config::OptionTable AgentOptions(Config& config);
inline constexpr const char* kDefaultConfigFile = "/etc/telltale/agent.yaml";

// The path of the cgroup that sensor.scope names; empty: the whole host.
std::string ScopeOf(const Config& config);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_CONFIG_H_
