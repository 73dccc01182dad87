// Folds samples and events as they are drained, and resolves at once what needs the live process:
// its executable's path, its cgroup, which file each code address lies in, what functions are
// called.
//
// Bounds: see Options; what finds no room is counted as LOSS_REASON_ROW_LIMIT of its vital. A
// process that is gone before it could be asked leaves plain addresses (STACK_END_NO_MAPPING) and
// is counted as LOSS_REASON_PROCESS_GONE. Owned and called by the sensor thread only.

#ifndef TELLTALE_AGENT_EPOCH_SAMPLE_FOLDER_H_
#define TELLTALE_AGENT_EPOCH_SAMPLE_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "agent/epoch/folded_epoch.h"
#include "agent/sensor/sensor.h"
#include "agent/symbols/name_book.h"
#include "agent/symbols/resolver.h"
#include "sketch/vitals.h"

namespace telltale::agent {

class SampleFolder : public SampleSink {
 public:
  struct Options {
    size_t entries_per_vital = 1'024;
    size_t labels = 8'192;
    size_t hashes_per_label = 64;
    size_t events = 4'096;  // distinct ones
    FoldTables::Limits tables;
  };

  // `resolver` and `names` outlive the folder.
  SampleFolder(const Options& options, Resolver& resolver, NameBook& names);

  void OnSample(const RawSample& sample) override;
  void OnEvent(const RawEvent& event) override;

  // What has been folded since the last Take.
  const FoldedEpoch& Current() const { return epoch_; }

  // Hands it over and begins empty.
  FoldedEpoch Take();

 private:
  using LabelKey =
      std::tuple<uint8_t, bool, uint32_t, uint32_t, std::array<uint64_t, kMaxLabelFields>>;
  using EntryKey = std::tuple<uint32_t, uint32_t, uint8_t, bool>;  // label, stack, sub, open
  using EventKey = std::array<uint32_t, 8>;

  // A value of a label or detail as it travels; `field` says how to read it.
  uint64_t WireValue(const sketch::Field& field, uint64_t raw, const RawSample& sample,
                     const ProcessRef& process);
  template <size_t N>
  std::array<uint64_t, N> WireValues(std::span<const sketch::Field> fields,
                                     const std::array<uint64_t, N>& raw, const RawSample& sample,
                                     const ProcessRef& process);
  uint32_t LabelIndex(const RawSample& sample, const sketch::Vital& vital,
                      const ProcessRef& process);
  // Finds out what a location is called, unless that is on record.
  v1::NameOutcome LearnName(const ProcessRef& process, const CodeLocation& location);
  uint32_t Frame(const ProcessRef& process, const CodeLocation& location);
  std::string WaitSite(const RawStack& stack);
  uint32_t StackOf(const RawSample& sample, const ProcessRef& process);
  uint32_t KernelStackOf(const RawStack& stack);
  void FoldKernelPart(const RawStack& raw, FoldStack* stack);
  void FoldUserPart(const RawSample& sample, const ProcessRef& process, FoldStack* stack);
  FoldedExemplar Exemplar(const RawSample& sample, const sketch::Vital& vital,
                          const ProcessRef& process);
  FoldedPeer Peer(const RawPeer& peer);
  uint32_t ExeOf(const ProcessRef& process);
  void Lose(uint8_t vital, v1::LossReason reason, uint64_t events, uint64_t weight);

  const Options options_;
  Resolver& resolver_;
  NameBook& names_;
  FoldedEpoch epoch_;
  absl::flat_hash_map<LabelKey, uint32_t> label_index_;
  absl::flat_hash_map<EntryKey, uint32_t> entry_index_;
  absl::flat_hash_map<EventKey, uint32_t> event_index_;
  std::array<uint32_t, TELLTALE_MAX_VITAL + 1> entries_of_vital_{};
};

// How an executable whose path is not known is called: "(unknown DEVICE:INODE)".
std::string UnknownExeName(const ExeId& exe);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_SAMPLE_FOLDER_H_
