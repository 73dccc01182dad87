#include "tests/fleetsim/tally.h"

#include <algorithm>

namespace telltale::fleetsim {

const char* BehaviourName(Behaviour behaviour) {
  switch (behaviour) {
    case Behaviour::kGood:
      return "good";
    case Behaviour::kSlowReader:
      return "slow_reader";
    case Behaviour::kGarbage:
      return "garbage";
    case Behaviour::kOversize:
      return "oversize";
    case Behaviour::kFlood:
      return "flood";
    case Behaviour::kEnd:
      break;
  }
  return "";
}

void Answers::Add(const Answers& other) {
  sent += other.sent;
  stored += other.stored;
  repeats += other.repeats;
  apart += other.apart;
  too_late += other.too_late;
  refused += other.refused;
  retried += other.retried;
}

void Tally::Add(const Tally& other) {
  for (size_t i = 0; i < kBehaviours; ++i) answers[i].Add(other.answers[i]);
  ack_us.insert(ack_us.end(), other.ack_us.begin(), other.ack_us.end());
  storm_ack_us.insert(storm_ack_us.end(), other.storm_ack_us.begin(), other.storm_ack_us.end());
  reconnect_ms.insert(reconnect_ms.end(), other.reconnect_ms.begin(), other.reconnect_ms.end());
  cut += other.cut;
  settled += other.settled;
  summary_bytes += other.summary_bytes;
  summary_epochs += other.summary_epochs;
  sent_bytes += other.sent_bytes;
  connects += other.connects;
  lost_streams += other.lost_streams;
  arrivals += other.arrivals;
  departures += other.departures;
  draw_failures += other.draw_failures;
  fleet_stacks.insert(other.fleet_stacks.begin(), other.fleet_stacks.end());
  stacks_of_nodes += other.stacks_of_nodes;
  private_stacks += other.private_stacks;
  nodes_with_stacks += other.nodes_with_stacks;
}

double Quantile(std::vector<uint32_t>& values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

}  // namespace telltale::fleetsim
