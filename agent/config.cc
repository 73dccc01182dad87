#include "agent/config.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "config/values.h"

namespace telltale::agent {
namespace {

constexpr char kCgroup[] = "cgroup:";

absl::Status CheckScope(const std::string& text) {
  if (text == "host") return absl::OkStatus();
  if (absl::StartsWith(text, absl::StrCat(kCgroup, "/")) && text.size() <= 1024) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("must be host or cgroup:/PATH below the cgroup root");
}

// An address; a host alone gets this port.
config::Option WithUsualPort(config::OptionInfo info, std::string& field, const char* port) {
  return {std::move(info),
          [&field, port](const std::string& text) -> absl::Status {
            if (text.empty()) {
              if (field.empty()) return absl::OkStatus();
              return absl::InvalidArgumentError("must be HOST or HOST:PORT");
            }
            const bool alone = text.find(':') == std::string::npos || text.back() == ']';
            const std::string whole = alone ? absl::StrCat(text, ":", port) : text;
            if (auto parsed = config::ParseAddress(whole); !parsed.ok()) return parsed.status();
            field = whole;
            return absl::OkStatus();
          },
          [&field] { return field; }};
}

// Epoch lengths divide a minute, so that windows nest.
config::Option EpochLength(uint32_t& field) {
  return {{"epoch", "DURATION",
           "length of an epoch: 5s 10s 15s 20s 30s or 60s; each may cost the same bytes", false},
          [&field](const std::string& text) -> absl::Status {
            auto seconds = config::ParseSeconds(text, 5, 60);
            if (!seconds.ok() || 60 % *seconds != 0) {
              return absl::InvalidArgumentError(
                  "must be one of 5s 10s 15s 20s 30s 60s: it has to divide a minute");
            }
            field = static_cast<uint32_t>(*seconds);
            return absl::OkStatus();
          },
          [&field] { return config::FormatSeconds(field); }};
}

// A share of the host's CPU time.
config::Option Budget(double& field) {
  return {{"sensor.budget", "PERCENT",
           "of the host's CPU time that the agent may take: beyond it parts are watched less, and "
           "answers say so; off: whatever it takes",
           false},
          [&field](const std::string& text) -> absl::Status {
            double percent = 0;
            if (text == "off") {
              field = 0;
              return absl::OkStatus();
            }
            if (!absl::SimpleAtod(absl::StripSuffix(text, "%"), &percent) || !(percent >= 0.1) ||
                !(percent <= 100)) {
              return absl::InvalidArgumentError("must be 0.1% to 100%, or off");
            }
            field = percent / 100;
            return absl::OkStatus();
          },
          [&field] { return field == 0 ? "off" : absl::StrFormat("%g%%", 100 * field); }};
}

constexpr const char* kCollectorPort = "7410";
constexpr const char* kEnrollPort = "7430";
constexpr uint64_t kMiB = 1 << 20;

}  // namespace

config::OptionTable AgentOptions(Config& config) {
  config::OptionTable table("TELLTALE_AGENT_");
  table.Add(
      WithUsualPort({"collector", "HOST:PORT", "where summaries go; port 7410 if none", false},
                    config.collector, kCollectorPort));
  table.Path({"tls.ca", "FILE",
              "authority that signs the collector (PEM); read for each connection", false},
             config.tls_ca, false);
  table.Path({"tls.cert", "FILE",
              "this node's certificate and chain (PEM); read for each connection", false},
             config.tls_cert, false);
  table.Path({"tls.key", "FILE",
              "its private key (PEM, not readable by others); read for each connection", false},
             config.tls_key, false);
  table.Path({"tls.server_name", "NAME",
              "name expected in the collector's certificate; empty: the host of collector", false},
             config.tls_server_name, true);
  table.Add(WithUsualPort({"enroll.collector", "HOST:PORT",
                           "where telltale-agent enroll asks; empty: the host of collector, port "
                           "7430",
                           false},
                          config.enroll_collector, kEnrollPort));
  table.Switch({"enroll.renew", "BOOL",
                "ask the collector for the next certificate when a third of the time is left, and "
                "replace tls.ca, tls.cert and tls.key",
                false},
               config.enroll_renew);
  table.Add(EpochLength(config.epoch_s));
  table.Pairs({"labels", "KEY=VALUE,...",
               "what the node is for: role, group, rack ...; filters compare equal role, metrics "
               "are by group",
               true},
              config.labels);
  table.Path({"spool.dir", "DIR", "summaries not yet acknowledged; the node's identity", false},
             config.spool_dir, false);
  table.Bytes(
      {"spool.max_bytes", "BYTES", "beyond it the oldest are given up and declared lost", false},
      config.spool_max_bytes, kMiB, 1ull << 40);
  table.Choice({"sensor.kind", "KIND", "bpf: this kernel; replay: synthetic, for tests", false},
               config.sensor_kind, {"bpf", "replay"});
  table.Text(
      {"sensor.scope", "SCOPE",
       "host: all tasks of this kernel; cgroup:/PATH: only those of that cgroup and of the cgroups "
       "below it (agent.md)",
       false},
      config.sensor_scope, CheckScope);
  table.Add(Budget(config.sensor_budget));
  table.Number({"sensor.replay_seed", "N", "of the synthetic epochs", false},
               config.sensor_replay_seed, 0, UINT64_MAX);
  table.Path({"unwind.dir", "DIR",
              "unwind tables of programs met, a cache of any agent; empty: built anew at each "
              "start, and stacks end early where they do not all fit into memory",
              false},
             config.unwind_dir, true);
  table.Bytes({"unwind.max_bytes", "BYTES", "of it; what was used longest ago goes first", false},
              config.unwind_max_bytes, 0, 1ull << 34);
  table.Bytes(
      {"uplink.max_bytes_per_day", "BYTES",
       "summaries are folded harder to stay below, and say so; 0: 13 KiB an epoch on average",
       false},
      config.uplink_max_bytes_per_day, 0, 1ull << 34);
  table.Switch(
      {"uplink.cells", "BOOL",
       "sends the sketch's cells too, for `telltale dump` and research; no answer needs them, and "
       "they are more bytes than all the rest",
       false},
      config.uplink_cells);
  table.Seconds({"uplink.reconnect_max", "DURATION", "longest pause between attempts", false},
                config.uplink_reconnect_max_s, 1, 3600);
  table.Path(
      {"run_as", "USER", "user of the process that talks to the network; empty: as started", false},
      config.run_as, true);
  table.Path({"status_socket", "FILE", "where telltale-agent status asks", false},
             config.status_socket, false);
  table.Choice({"log.level", "LEVEL", "trace, debug, info, warning or error", true},
               config.log_level, {"trace", "debug", "info", "warning", "error"});
  table.Choice({"log.format", "FORMAT", "text or json, on standard error", true}, config.log_format,
               {"text", "json"});
  return table;
}

std::string ScopeOf(const Config& config) {
  return config.sensor_scope == "host" ? "" : config.sensor_scope.substr(sizeof(kCgroup) - 1);
}

}  // namespace telltale::agent
