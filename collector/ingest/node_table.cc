#include "collector/ingest/node_table.h"

#include <algorithm>
#include <utility>

#include "sketch/time_units.h"

namespace telltale::ingest {
namespace {

constexpr uint32_t kSilentEpochs = 3;

}  // namespace

void NodeTable::Load(const storage::NodeRecord& record, uint64_t mono_ns) {
  auto entry = std::make_unique<NodeEntry>(record.name(), record.number(), options_);
  entry->state = record.state();
  entry->heard_mono_ns = mono_ns;
  if (record.info().epoch_length_s() > 0) entry->epoch_length_s = record.info().epoch_length_s();
  Add(std::move(entry));
}

absl::StatusOr<NodeEntry*> NodeTable::Obtain(const std::string& name) {
  if (NodeEntry* known = Find(name)) return known;
  const auto number = store_->NumberOf(name);
  if (!number.ok()) return number.status();
  auto entry = std::make_unique<NodeEntry>(name, *number, options_);
  return Add(std::move(entry));
}

NodeEntry* NodeTable::Add(std::unique_ptr<NodeEntry> entry) {
  NodeEntry* const added = entry.get();
  numbers_.insert(std::ranges::upper_bound(numbers_, added->number), added->number);
  entries_[added->name] = std::move(entry);
  return added;
}

NodeEntry* NodeTable::Find(const std::string& name) {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.get();
}

size_t NodeTable::Reporting() const {
  return static_cast<size_t>(std::ranges::count_if(
      entries_, [](const auto& entry) { return entry.second->state == v1::NODE_STATE_REPORTING; }));
}

std::vector<NodeEntry*> NodeTable::FallenSilent(uint64_t mono_ns, uint32_t spread_s) {
  std::vector<NodeEntry*> silent;
  for (auto& [name, entry] : entries_) {
    if (entry->state != v1::NODE_STATE_REPORTING) continue;
    const uint64_t patience_ns =
        (uint64_t{kSilentEpochs} * entry->epoch_length_s + spread_s) * kNsPerS;
    if (mono_ns > entry->heard_mono_ns + patience_ns) silent.push_back(entry.get());
  }
  return silent;
}

}  // namespace telltale::ingest
