#include "tests/fleetsim/verify.h"

#include <chrono>
#include <cmath>

#include "absl/strings/str_format.h"
#include "tests/fleetsim/node_stream.h"

namespace telltale::fleetsim {
namespace {

constexpr std::chrono::seconds kTimeout(60);
constexpr double kRounding = 1e-9;  // of sums of doubles
constexpr double kDayS = 86400;

}  // namespace

absl::StatusOr<Verifier> Verifier::Open(const std::string& collector, const ViewerFiles& files) {
  auto client = cli::Client::Open({collector, files.ca, files.cert, files.key}, kTimeout);
  if (!client.ok()) return client.status();
  Verifier verifier(*std::move(client));
  auto before = verifier.Received();
  if (!before.ok()) return before.status();
  verifier.before_ = *std::move(before);
  return verifier;
}

absl::StatusOr<std::map<std::string, uint64_t>> Verifier::Received() {
  const absl::StatusOr<v1::NodesAnswer> answer =
      client_->Ask(&v1::Query::Stub::ListNodes, v1::NodesRequest());
  if (!answer.ok()) return answer.status();
  std::map<std::string, uint64_t> received;
  for (const v1::Node& node : answer->nodes()) received[node.name()] = node.epochs_received();
  return received;
}

absl::StatusOr<double> Verifier::Total(const std::string& node, const std::string& vital,
                                       uint64_t start_unix_ns) {
  v1::TopRequest request;
  v1::Selection& selection = *request.mutable_selection();
  selection.add_nodes(node);
  selection.set_start_s(static_cast<double>(start_unix_ns) * 1e-9);
  selection.set_end_s(static_cast<double>(WallNowNs()) * 1e-9 + kDayS);
  selection.set_tier(v1::TIER_RAW);
  request.set_vital(vital);
  request.set_by(v1::DIMENSION_EXE);
  request.set_limit(1);
  const absl::StatusOr<v1::TopAnswer> answer = client_->Ask(&v1::Query::Stub::GetTop, request);
  if (!answer.ok()) return answer.status();
  return answer->tables_size() == 0 ? 0 : answer->tables(0).total();
}

absl::StatusOr<Verification> Verifier::Check(const std::vector<NodeOutcome>& outcomes,
                                             uint32_t sums, uint64_t start_unix_ns) {
  const auto received = Received();
  if (!received.ok()) return received.status();
  Verification result;
  for (const NodeOutcome& node : outcomes) {
    ++result.nodes_counted;
    const auto found = received->find(node.name);
    const auto earlier = before_.find(node.name);
    const uint64_t has = (found == received->end() ? 0 : found->second) -
                         (earlier == before_.end() ? 0 : earlier->second);
    result.acked += node.acked;
    result.received += has;
    if (has < node.acked || has > node.acked + node.unanswered) {
      result.wrong.push_back(absl::StrFormat(
          "%s (%s): %d epochs acked, %d unanswered, the collector has %d", node.name,
          BehaviourName(node.behaviour), node.acked, node.unanswered, has));
    }
    if (node.behaviour != Behaviour::kGood || node.unanswered != 0 || result.nodes_summed >= sums)
      continue;
    ++result.nodes_summed;
    const std::pair<const char*, double> expected[] = {{"cpu", node.totals.cpu_ns * 1e-9},
                                                       {"syscall", node.totals.syscalls}};
    for (const auto& [vital, sum] : expected) {
      const auto total = Total(node.name, vital, start_unix_ns);
      if (!total.ok()) return total.status();
      if (std::abs(*total - sum) <= kRounding * std::max(sum, 1.0)) continue;
      result.wrong.push_back(
          absl::StrFormat("%s: %s of all acked epochs is %.9g, the collector says %.9g", node.name,
                          vital, sum, *total));
    }
  }
  return result;
}

}  // namespace telltale::fleetsim
