// The samples and discrete events of one epoch, folded: equal ones are one entry with a count.
//
// Plain data: filled by SampleFolder while the epoch runs, read by EpochCutter when it is over.
// All ids refer to `tables`.

#ifndef TELLTALE_AGENT_EPOCH_FOLDED_EPOCH_H_
#define TELLTALE_AGENT_EPOCH_FOLDED_EPOCH_H_

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "agent/epoch/fold_tables.h"
#include "agent/epoch/sampled_hashes.h"
#include "agent/sensor/sensor.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

// What makes two events of a vital "the same", in wire form: code addresses are frame ids, so all
// processes that run one file share a label although each has it mapped elsewhere.
struct FoldedLabel {
  uint8_t vital = 0;
  bool irq = false;
  uint32_t exe = 0;  // string id; 0: kernel thread or [irq]
  uint32_t uid = 0;
  std::array<uint64_t, kMaxLabelFields> fields{};

  // How it stands in the sketch. The kernel hashes raw addresses, so one label may have several.
  std::vector<uint64_t> hashes;  // distinct, bounded
  bool more_hashes = false;      // there were more than fit
  uint64_t samples = 0;
  uint64_t sampled_weight = 0;
};

struct FoldedPeer {
  uint32_t tgid = 0, tid = 0, comm = 0, stack = 0;
  uint64_t start_ns = 0;
};

// One sample kept whole.
struct FoldedExemplar {
  uint64_t mono_ns = 0, weight = 0, cell_before = 0, cell_after = 0, age_ms = 0;
  uint32_t cpu = 0, tgid = 0, tid = 0, comm = 0, cgroup = 0, duty_ppm = 0;
  uint8_t t_log2 = 1;
  std::array<uint64_t, kMaxDetailFields> detail{};  // wire form
  FoldedPeer ran_instead, waker, holder;
  uint32_t wait_site = 0;  // string id
};

struct FoldedEntry {
  uint32_t label = 0;  // index into FoldedEpoch::labels
  uint32_t stack = 0;  // id
  uint8_t sub = 0;
  bool open = false;
  uint64_t samples = 0;
  uint64_t sampled_weight = 0;
  uint64_t first_ns = 0, last_ns = 0;  // CLOCK_MONOTONIC
  FoldedExemplar exemplar;             // the heaviest; of equals the earliest
};

struct FoldedEvent {
  v1::EventType type = v1::EVENT_TYPE_UNSPECIFIED;
  uint32_t exe = 0, comm = 0, cgroup = 0, uid = 0, exit_code = 0, exit_signal = 0, text = 0;
  uint32_t pid = 0;  // of the first
  uint64_t first_ns = 0;
  int64_t value = 0;  // clock step: ns
  uint32_t count = 0;
};

struct LossCount {
  uint64_t events = 0, weight = 0;
};

struct FoldedEpoch {
  FoldedEpoch() = default;
  explicit FoldedEpoch(const FoldTables::Limits& limits) : tables(limits) {}

  FoldTables tables;
  std::vector<FoldedLabel> labels;
  std::vector<FoldedEntry> entries;
  std::vector<FoldedEvent> events;
  SampledHashes sampled;
  // (vital, 0: none of them; reason) -> what was lost while folding.
  std::map<std::pair<uint8_t, v1::LossReason>, LossCount> losses;
  std::map<v1::StackEnd, uint64_t> user_stacks;     // samples, by how their user stack ended
  std::map<v1::NameOutcome, uint64_t> user_frames;  // of all these stacks, by what they are called
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_FOLDED_EPOCH_H_
