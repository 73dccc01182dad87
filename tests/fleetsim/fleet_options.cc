#include "tests/fleetsim/fleet_options.h"

#include "tests/fleetsim/traits.h"

namespace telltale::fleetsim {

config::OptionTable TableOf(FleetOptions& options) {
  config::OptionTable table("TELLTALE_FLEETSIM_");
  const auto number = [&table](const char* key, const char* help, uint32_t& field, uint64_t low,
                               uint64_t high) {
    table.Number({key, "N", help}, field, low, high);
  };
  const auto seconds = [&table](const char* key, const char* help, uint32_t& field, uint64_t low,
                                uint64_t high) {
    table.Seconds({key, "DURATION", help}, field, low, high);
  };
  table.Address({"collector", "HOST:PORT", "where the fleet reports"}, options.collector);
  table.Path(
      {"pki", "DIR", "authority (telltale pki init); the nodes' certificates are kept there"},
      options.pki, true);
  table.Path({"recordings", "DIR,...", "spool directories to replay; empty: made-up epochs"},
             options.recordings, true);
  number("nodes", "nodes, each with a certificate and a connection of its own", options.nodes, 1,
         100'000);
  number("first", "number of the first node: several processes share a fleet", options.first, 1,
         1'000'000);
  seconds("epoch", "length of an epoch, divides a minute", options.epoch_s, 1, 60);
  number("epochs", "epochs each node cuts; SIGTERM: no more, once these are settled the report",
         options.epochs, 1, 100'000);
  number("warmup", "of them at the beginning not measured", options.warmup, 0, 1000);
  number("threads", "threads that drive nodes", options.threads, 1, 64);
  number("arrivals", "nodes that connect in a second at the start", options.arrivals_per_s, 1,
         100'000);
  seconds("connect", "longest wait until all are connected", options.connect_s, 1, 3600);
  seconds("drain", "longest wait at the end until all epochs are settled", options.drain_s, 1,
          3600);
  table.Number({"seed", "N", "of everything random"}, options.seed, 0, UINT32_MAX);
  number("private-stacks", "per cent of a node's stacks that no other node has",
         options.redraw.private_stacks_percent, 0, 100);
  number("private-comms", "per cent of its command names", options.redraw.private_comms_percent, 0,
         100);
  number("other-builds", "per cent of nodes with other build ids",
         options.redraw.other_builds_percent, 0, 100);
  number("builds", "different builds among these", options.redraw.builds, 1, 100'000);
  seconds("skew", "clocks are off by up to this, either way", options.skew_s, 0, 7 * 86400);
  number("churn", "nodes that leave in a minute, half of them without a goodbye",
         options.churn_per_minute, 0, 1'000'000);
  seconds("away", "how long they stay away, on average", options.away_s, 1, 3600);
  seconds("storm-at", "all connections break at once, so long after the measured time began",
          options.storm_at_s, 0, 86400);
  number("storms", "how often, that far apart; SIGUSR1 makes one more", options.storms, 0, 1000);
  number("slow-readers", "nodes that ask for many answers and do not read them for a while",
         options.slow_readers, 0, 100'000);
  seconds("slow", "that while", options.slow_s, 1, 600);
  number("garbage", "nodes whose summaries are random bytes", options.garbage, 0, 100'000);
  number("oversize", "nodes whose summaries are too large, every third beyond all messages",
         options.oversize, 0, 100'000);
  number("flood", "nodes that send everything a hundred times", options.flood, 0, 100'000);
  number("collector-pid", "process whose CPU time and memory are reported; 0: none",
         options.collector_pid, 0, 1u << 30);
  table.Path({"disk", "DIR", "on the collector's disk: how long a durable write takes there"},
             options.disk, true);
  number("verify",
         "nodes whose sums are compared with the collector's answers at the end; the "
         "number of epochs is compared for every node",
         options.verify, 0, 100'000);
  return table;
}

std::vector<std::string> NodeNames(const FleetOptions& options) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < options.nodes; ++i) {
    names.push_back(NodeName(options.first + i));
  }
  return names;
}

}  // namespace telltale::fleetsim
