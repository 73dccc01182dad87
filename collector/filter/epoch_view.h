// One stored epoch in the shape of the filter interface. Holds what the C structs point to.
//
// A value of one call: made, shown to one filter, thrown away. Points into the body and schema it
// was made from.

#ifndef TELLTALE_COLLECTOR_FILTER_EPOCH_VIEW_H_
#define TELLTALE_COLLECTOR_FILTER_EPOCH_VIEW_H_

#include <deque>
#include <string>
#include <vector>

#include "collector/filter/epoch_source.h"
#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

class EpochView {
 public:
  // Only what `filter` needs is filled in.
  EpochView(const SourceEpoch& epoch, const telltale_filter& filter);
  EpochView(const EpochView&) = delete;
  EpochView& operator=(const EpochView&) = delete;

  const telltale_filter_epoch* get() const { return &epoch_; }

 private:
  void AddVital(const v1::Vital& vital, const v1::VitalDescriptor& descriptor, uint32_t needs);
  void AddLabels(const v1::Vital& vital, bool samples, telltale_filter_vital& view);
  const char* Text(uint32_t index_plus_1) const;

  const v1::SummaryBody& body_;
  telltale_filter_epoch epoch_ = {};
  std::vector<telltale_filter_vital> vitals_;
  // Deques: what they hold stays where it is while more is added.
  std::deque<std::vector<telltale_filter_sub>> subs_;
  std::deque<std::vector<telltale_filter_label>> labels_;
  std::deque<telltale_filter_sample> samples_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_EPOCH_VIEW_H_
