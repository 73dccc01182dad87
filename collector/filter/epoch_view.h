// One stored epoch, or the sums of an hour, in the shape of the filter interface. Holds what the C
// structs point to.
//
// An EpochView is a value of one call: made, shown to one filter, thrown away. Points into the body
// and schema it was made from.

#ifndef TELLTALE_COLLECTOR_FILTER_EPOCH_VIEW_H_
#define TELLTALE_COLLECTOR_FILTER_EPOCH_VIEW_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "collector/filter/epoch_source.h"
#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

// The stable ids of an epoch's labels. Several filters look at the same vitals: those of a vital
// are made when the first one does.
class StableIds {
 public:
  // One for each entry of the vital's samples. The body stays as it is as long as this lives.
  const std::vector<uint64_t>& Of(const v1::Vital& vital, const v1::VitalDescriptor& descriptor,
                                  const v1::Tables& tables);

 private:
  std::map<const v1::Vital*, std::vector<uint64_t>> of_;
};

class EpochView {
 public:
  // Only what `filter` needs is filled in.
  EpochView(const SourceEpoch& epoch, const telltale_filter& filter);
  EpochView(const SourceHour& hour, uint64_t start_ns, const telltale_filter& filter);
  EpochView(const EpochView&) = delete;
  EpochView& operator=(const EpochView&) = delete;

  const telltale_filter_epoch* get() const { return &epoch_; }

 private:
  telltale_filter_vital& AddVital(const v1::VitalDescriptor& descriptor, v1::VitalState state);
  template <typename Subs>
  void AddSubs(const Subs& counted, const v1::VitalDescriptor& descriptor,
               telltale_filter_vital& view);
  void AddSeconds(const v1::Vital& vital);
  void AddLabels(const v1::Vital& vital, const v1::VitalDescriptor& descriptor, bool samples,
                 telltale_filter_vital& view);
  void AddProcesses(const v1::ProcessTable& table);
  void AddEvents();
  void AddMemory(const v1::Gauges& gauges);
  void AddDisks(const v1::HostNames& names);
  void AddLatencies(const v1::Vital& disk_io, const v1::VitalDescriptor& descriptor);
  const char* UserOf(uint32_t uid) const;
  uint64_t BuildOf(uint32_t exe_plus_1);
  const char* Text(uint32_t index_plus_1) const;

  const v1::SummaryBody& body_;
  StableIds own_ids_;
  StableIds* const ids_;
  telltale_filter_epoch epoch_ = {};
  std::vector<telltale_filter_vital> vitals_;
  // Deques: what they hold stays where it is while more is added.
  std::deque<std::vector<telltale_filter_sub>> subs_;
  std::deque<std::vector<telltale_filter_label>> labels_;
  std::deque<telltale_filter_sample> samples_;
  std::vector<telltale_filter_process> processes_;
  std::vector<telltale_filter_event> events_;
  std::vector<telltale_filter_disk> disks_;
  std::map<uint32_t, uint64_t> builds_;  // of executables, by string index + 1
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_EPOCH_VIEW_H_
