#include "collector/filter/fleet/silent_nodes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/state_bytes.h"
#include "proto/compress.h"
#include "sketch/time_units.h"

namespace telltale::filter {
namespace {

constexpr char kSilenceState[] = "fleet/silence";
constexpr uint8_t kSilenceLayout = 3;
// Of ten thousand silent nodes the texts are some megabytes, and nearly the same.
constexpr size_t kMostOpenedBytes = 64 << 20;
constexpr uint64_t kHourNs = 3'600 * kNsPerS;
constexpr uint64_t kSpareNs = 120 * kNsPerS;
constexpr uint64_t kAwayNs = 60 * kNsPerS;  // without a look: the machine slept, or was overloaded
constexpr uint64_t kEpochs = 3;

uint64_t AllowedNs(const NodeHead& node) {
  return kEpochs * uint64_t{node.epoch_length_s} * kNsPerS + kSpareNs;
}

bool ShouldReport(const NodeHead& node) {
  return node.epochs > 0 &&
         (node.state == v1::NODE_STATE_REPORTING || node.state == v1::NODE_STATE_SILENT);
}

}  // namespace

SilentNodes::SilentNodes(storage::DerivedStore* store, FleetOutputs* outputs, uint64_t now_ns)
    : store_(store), outputs_(outputs), since_ns_(now_ns), last_look_ns_(now_ns) {
  Load();
}

absl::Status SilentNodes::Look(const std::vector<NodeHead>& nodes, uint64_t now_ns) {
  if (now_ns > last_look_ns_ + kAwayNs) since_ns_ = now_ns;
  last_look_ns_ = std::max(last_look_ns_, now_ns);
  const auto heard = [&](const NodeHead& node) {
    return std::max(node.last_received_ns, since_ns_);
  };
  const auto due = static_cast<size_t>(std::ranges::count_if(nodes, ShouldReport));
  const auto reporting =
      static_cast<size_t>(std::ranges::count_if(nodes, [&](const NodeHead& node) {
        return ShouldReport(node) && node.last_received_ns + AllowedNs(node) >= now_ns;
      }));
  bool changed = false;
  for (const NodeHead& node : nodes) {
    const auto goodbye = goodbyes_.find(node.number);
    if (goodbye == goodbyes_.end() || goodbye->second.last_epoch_ns == node.last_epoch_ns) continue;
    goodbyes_.erase(goodbye);
    changed = true;
  }
  for (const NodeHead& node : nodes) {
    const auto open = open_.find(node.number);
    if (open != open_.end()) {
      const bool back = node.last_epoch_ns > open->second.last_epoch_ns;
      if (!back && ShouldReport(node)) continue;
      if (auto status = Tell(node.number, open->second, false, now_ns); !status.ok()) return status;
      if (!back) goodbyes_[node.number] = {node.last_epoch_ns, now_ns};
      open_.erase(open);
      changed = true;
      continue;
    }
    if (!ShouldReport(node) || heard(node) + AllowedNs(node) >= now_ns) continue;
    Open begun;
    const auto goodbye = goodbyes_.find(node.number);
    begun.start_ns = goodbye == goodbyes_.end() ? node.last_epoch_ns
                                                : std::max(heard(node), goodbye->second.at_ns);
    begun.last_epoch_ns = node.last_epoch_ns;
    begun.epochs = node.epochs;
    begun.name = node.name;
    begun.text =
        absl::StrCat("the node is silent: nothing of it for ",
                     (now_ns - std::max(node.last_received_ns, node.last_epoch_ns)) / kNsPerS,
                     " s, and no goodbye");
    begun.evidence = absl::StrCat("an epoch is due every ", node.epoch_length_s, " s; ", reporting,
                                  " of ", due, " nodes report");
    begun.against =
        due > 1 && reporting * 2 < due
            ? "so many at once have one reason: the network, a certificate, this collector"
            : "its agent may be stopped, or cut off, and the node be well";
    if (auto status = Tell(node.number, begun, true, now_ns); !status.ok()) return status;
    open_[node.number] = std::move(begun);
    changed = true;
  }
  if (const uint64_t hour = now_ns / kHourNs; hour != carried_hour_) {
    for (const auto& [node, open] : open_) {
      const auto carried = outputs_->Carry(kName, kVersion, node, open.start_ns, now_ns);
      if (!carried.ok()) return carried;
    }
    carried_hour_ = hour;
  }
  return changed ? Save() : absl::OkStatus();
}

absl::Status SilentNodes::Tell(uint32_t node, const Open& open, bool goes_on, uint64_t now_ns) {
  v1::FilterAnomaly anomaly;
  anomaly.set_vital("node");
  anomaly.set_start_ns(open.start_ns);
  anomaly.set_end_ns(now_ns);
  anomaly.set_open(goes_on);
  anomaly.set_severity_milli(10'000);
  anomaly.set_learned_epochs(open.epochs);
  anomaly.set_text(open.text);
  anomaly.set_evidence(open.evidence);
  anomaly.set_against(open.against);
  anomaly.set_next(absl::StrCat("telltale nodes --node ", open.name));
  return outputs_->Put(kName, kVersion, node, open.name, std::move(anomaly), now_ns);
}

std::vector<v1::FilterLearning> SilentNodes::Learning(const std::vector<NodeHead>& nodes,
                                                      uint64_t now_ns) const {
  std::vector<v1::FilterLearning> all;
  const uint64_t listened_ns = now_ns - std::min(now_ns, since_ns_);
  for (const NodeHead& node : nodes) {
    if (!ShouldReport(node) || listened_ns >= AllowedNs(node)) continue;
    v1::FilterLearning& learning = all.emplace_back();
    learning.set_filter(kName);
    learning.set_node(node.name);
    learning.set_learned_epochs(listened_ns / kNsPerS);
    learning.set_needed_epochs(AllowedNs(node) / kNsPerS);
    learning.set_unit("seconds");
  }
  return all;
}

bool SilentNodes::IsOpen(const NodeNames& nodes) const {
  return std::ranges::any_of(
      open_, [&](const auto& entry) { return nodes.empty() || nodes.contains(entry.second.name); });
}

absl::Status SilentNodes::Save() {
  StateWriter to;
  to.Map(open_, [&](const Open& open) {
    to.Put(open.start_ns);
    to.Put(open.last_epoch_ns);
    to.Put(open.epochs);
    for (const std::string* text : {&open.name, &open.text, &open.evidence, &open.against}) {
      to.Text(*text);
    }
  });
  to.Map(goodbyes_, [&](const Goodbye& goodbye) {
    to.Put(goodbye.last_epoch_ns);
    to.Put(goodbye.at_ns);
  });
  const auto packed = proto::Compress(to.bytes());
  if (!packed.ok()) return packed.status();
  StateWriter state;
  state.Put(kSilenceLayout);
  state.Text(*packed);
  return store_->PutState(kSilenceState, state.bytes(), storage::Durability::kBuffered);
}

void SilentNodes::Load() {
  const auto bytes = store_->GetState(kSilenceState);
  if (!bytes.ok()) return;
  StateReader state(*bytes);
  if (state.Get<uint8_t>() != kSilenceLayout) return;
  const std::string packed = state.Text();
  const auto opened = proto::DecompressWhole("open silences", packed, kMostOpenedBytes);
  if (!opened.ok() || !state.at_end()) return;
  StateReader from(*opened);
  from.Map(open_, [&](Open& open) {
    open.start_ns = from.Get<uint64_t>();
    open.last_epoch_ns = from.Get<uint64_t>();
    open.epochs = from.Get<uint64_t>();
    for (std::string* text : {&open.name, &open.text, &open.evidence, &open.against}) {
      *text = from.Text();
    }
  });
  from.Map(goodbyes_, [&](Goodbye& goodbye) {
    goodbye.last_epoch_ns = from.Get<uint64_t>();
    goodbye.at_ns = from.Get<uint64_t>();
  });
  // What cannot be read is found again.
  if (from.at_end()) return;
  open_.clear();
  goodbyes_.clear();
}

}  // namespace telltale::filter
