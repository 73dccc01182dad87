// Stored epochs that a test makes up, of nodes "n1", "n2" ...: what filters run over without a
// store.
//
// One thread, or any number once all was added.

#ifndef TELLTALE_TESTS_SUPPORT_FAKE_EPOCHS_H_
#define TELLTALE_TESTS_SUPPORT_FAKE_EPOCHS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/filter/epoch_source.h"
#include "proto/codec.h"
#include "sketch/vital_ids.h"

namespace telltale::filter {

inline constexpr uint64_t kSecond = 1'000'000'000;
inline constexpr uint64_t kEpoch = 10 * kSecond;
inline constexpr uint64_t kBegin = 500'000 * 3600 * kSecond;  // on the hour

// Stored epochs in memory: per node, epoch number -> CPU rate.
class FakeSource : public EpochSource {
 public:
  void Add(uint32_t node, uint64_t number, double rate) {
    rates_[node][number] = rate;
    ++counted_[node];
  }
  // One that is stored and cannot be opened, not the first of the node.
  void AddUnreadable(uint32_t node, uint64_t number) {
    unreadable_[node].insert(number);
    ++counted_[node];
  }
  std::vector<NodeHead> Nodes() const override {
    std::vector<NodeHead> heads;
    for (const auto& [node, rates] : rates_) {
      heads.push_back({node, absl::StrCat("n", node), counted_.at(node), 10,
                       kBegin + rates.begin()->first * kEpoch,
                       kBegin + (rates.rbegin()->first + 1) * kEpoch});
      heads.back().machine = "x86_64";
    }
    return heads;
  }
  absl::Status ForEach(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                       const Visitor& visit) const override {
    for (const auto& [number, rate] : rates_.at(node)) {
      SourceEpoch epoch;
      epoch.span.start_ns = kBegin + number * kEpoch;
      epoch.span.end_ns = epoch.span.start_ns + kEpoch;
      epoch.span.watched_ns = kEpoch;
      epoch.sequence = number + 1;
      if (epoch.span.end_ns <= from_ns) continue;
      if (epoch.span.start_ns >= to_ns) break;
      v1::SummaryBody body;
      body.mutable_epoch()->set_kind(v1::EPOCH_KIND_FULL);
      v1::Vital& cpu = *body.add_vitals();
      cpu.set_id(TELLTALE_CPU);
      cpu.set_state(v1::VITAL_STATE_ACTIVE);
      cpu.add_subs()->set_weight(static_cast<uint64_t>(rate * 1e9) * 10);
      cpu.add_subs();
      cpu.add_subs();
      epoch.body = &body;
      epoch.schema = &schema_;
      ++visits;
      if (!visit(epoch)) break;
    }
    return absl::OkStatus();
  }
  absl::Status ForEachStored(uint32_t node, uint64_t from_ns, uint64_t to_ns, const Visitor& visit,
                             const Unreadable& unreadable) const override {
    const auto of = unreadable_.find(node);
    for (const uint64_t number : of == unreadable_.end() ? std::set<uint64_t>() : of->second) {
      const uint64_t start_ns = kBegin + number * kEpoch;
      if (start_ns >= from_ns && start_ns < to_ns) unreadable(start_ns);
    }
    return ForEach(node, from_ns, to_ns, visit);
  }
  bool Hour(uint32_t, uint64_t, const HourVisitor&) const override { return false; }
  mutable std::atomic<uint64_t> visits = 0;

 private:
  const v1::Schema schema_ = proto::BuiltinSchema();
  std::map<uint32_t, std::map<uint64_t, double>> rates_;
  std::map<uint32_t, uint64_t> counted_;
  std::map<uint32_t, std::set<uint64_t>> unreadable_;  // by node
};

}  // namespace telltale::filter

#endif  // TELLTALE_TESTS_SUPPORT_FAKE_EPOCHS_H_
