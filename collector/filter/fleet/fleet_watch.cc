#include "collector/filter/fleet/fleet_watch.h"

#include <algorithm>
#include <utility>

namespace telltale::filter {

FleetWatch::FleetWatch(const EpochSource* source, storage::DerivedStore* store, AnomalyLog* log,
                       uint64_t now_ns)
    : source_(source),
      log_(log),
      outputs_(store, log),
      silent_(store, &outputs_, now_ns),
      peers_(source, store, &outputs_) {}

absl::Status FleetWatch::Look(uint64_t now_ns) {
  const std::vector<NodeHead> nodes = source_->Nodes();
  const absl::Status silent = silent_.Look(nodes, now_ns);
  const absl::Status peers = peers_.Look(nodes, now_ns);
  const absl::Status published = log_->Publish();
  auto learning = silent_.Learning(nodes, now_ns);
  for (v1::FilterLearning& of : peers_.Learning(nodes)) learning.push_back(std::move(of));
  {
    const std::lock_guard lock(mutex_);
    learning_ = std::move(learning);
  }
  if (!silent.ok()) return silent;
  return peers.ok() ? published : peers;
}

bool FleetWatch::IsOpen(const std::string& filter, const NodeNames& nodes, const std::string& vital,
                        const std::string& sub) const {
  if (filter == SilentNodes::kName) return silent_.IsOpen(nodes);
  return filter == PeerOutliers::kName && peers_.IsOpen(nodes, vital, sub);
}

std::vector<FilterIdentity> FleetWatch::Identities() {
  return {{PeerOutliers::kName, PeerOutliers::kVersion},
          {SilentNodes::kName, SilentNodes::kVersion}};
}

std::vector<v1::FilterLearning> FleetWatch::Learning() const {
  const std::lock_guard lock(mutex_);
  return learning_;
}

std::vector<v1::FilterInfo> FleetWatch::Infos() const {
  std::vector<v1::FilterInfo> infos;
  const auto learning = Learning();
  const auto counts = log_->Counts();
  for (const FilterIdentity& identity : Identities()) {
    v1::FilterInfo& info = infos.emplace_back();
    info.set_name(identity.name);
    info.set_version(identity.version);
    info.set_about(
        identity.name == SilentNodes::kName
            ? "a node that should report and does not"
            : "a node unlike its peers: equal role, else equal kernel, CPUs and program");
    info.mutable_status()->set_name(identity.name);
    info.mutable_status()->set_version(identity.version);
    info.mutable_status()->set_state("running");
    uint32_t anomalies = 0;
    for (const auto& [key, count] : counts) {
      if (key.first == identity.name) anomalies += static_cast<uint32_t>(count);
    }
    info.mutable_status()->set_anomalies(anomalies);
    info.set_nodes(static_cast<uint32_t>(source_->Nodes().size()));
    info.set_nodes_learning(static_cast<uint32_t>(
        std::ranges::count(learning, identity.name, &v1::FilterLearning::filter)));
  }
  return infos;
}

}  // namespace telltale::filter
