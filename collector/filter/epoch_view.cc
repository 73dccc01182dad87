#include "collector/filter/epoch_view.h"

#include <algorithm>
#include <cstring>

namespace telltale::filter {
namespace {

// Zero-terminated, unlike a view of a name.
const char* UnitText(v1::Unit unit) {
  switch (unit) {
    case v1::UNIT_NANOSECONDS:
      return "ns";
    case v1::UNIT_BYTES:
      return "bytes";
    case v1::UNIT_PAGES:
      return "pages";
    case v1::UNIT_CALLS:
      return "calls";
    case v1::UNIT_SIGNALS:
      return "signals";
    case v1::UNIT_MISSES:
      return "misses";
    case v1::UNIT_SEGMENTS:
      return "segments";
    default:
      return "";
  }
}

bool Wanted(const telltale_filter& filter, const std::string& vital) {
  if (filter.vitals == nullptr) return true;
  for (const char* const* name = filter.vitals; *name != nullptr; ++name) {
    if (vital == *name) return true;
  }
  return false;
}

}  // namespace

EpochView::EpochView(const SourceEpoch& epoch, const telltale_filter& filter) : body_(*epoch.body) {
  epoch_.struct_size = sizeof epoch_;
  epoch_.kind = static_cast<uint32_t>(body_.epoch().kind());
  epoch_.start_ns = epoch.span.start_ns;
  epoch_.end_ns = epoch.span.end_ns;
  epoch_.watched_ns = epoch.span.watched_ns;
  for (const v1::Loss& loss : body_.losses()) epoch_.lost_events += loss.events();
  for (const v1::Vital& vital : body_.vitals()) {
    for (const v1::Loss& loss : vital.losses()) epoch_.lost_events += loss.events();
    const auto& descriptors = epoch.schema->vitals();
    const auto descriptor = std::ranges::find(descriptors, vital.id(), &v1::VitalDescriptor::id);
    if (descriptor == descriptors.end() || !Wanted(filter, descriptor->name())) continue;
    AddVital(vital, *descriptor, filter.needs);
  }
  epoch_.vital_count = static_cast<uint32_t>(vitals_.size());
  epoch_.vitals = vitals_.data();
}

void EpochView::AddVital(const v1::Vital& vital, const v1::VitalDescriptor& descriptor,
                         uint32_t needs) {
  telltale_filter_vital& view = vitals_.emplace_back();
  view = {};
  view.struct_size = sizeof view;
  view.id = vital.id();
  view.name = descriptor.name().c_str();
  view.unit = UnitText(descriptor.unit());
  view.state = static_cast<uint32_t>(vital.state());
  if ((needs & TELLTALE_NEEDS_TOTALS) != 0 && vital.state() != v1::VITAL_STATE_UNAVAILABLE) {
    auto& subs = subs_.emplace_back();
    const int count = std::min(vital.subs_size(), descriptor.subs_size());
    for (int i = 0; i < count; ++i) {
      telltale_filter_sub& sub = subs.emplace_back();
      sub = {};
      sub.struct_size = sizeof sub;
      sub.index = static_cast<uint32_t>(i);
      sub.name = descriptor.subs(i).name().c_str();
      sub.events = vital.subs(i).events();
      sub.weight = vital.subs(i).weight();
      sub.idle = descriptor.subs(i).idle() ? 1 : 0;
      sub.seconds = static_cast<uint32_t>(vital.subs(i).second_weight_size());
      sub.second_weight = vital.subs(i).second_weight().data();
    }
    view.sub_count = static_cast<uint32_t>(subs.size());
    view.subs = subs.data();
  }
  if ((needs & (TELLTALE_NEEDS_LABELS | TELLTALE_NEEDS_SAMPLES)) != 0) {
    AddLabels(vital, (needs & TELLTALE_NEEDS_SAMPLES) != 0, view);
  }
}

void EpochView::AddLabels(const v1::Vital& vital, bool samples, telltale_filter_vital& view) {
  auto& labels = labels_.emplace_back();
  for (const v1::FoldedSample& folded : vital.samples()) {
    telltale_filter_label& label = labels.emplace_back();
    label = {};
    label.struct_size = sizeof label;
    label.uid = folded.uid();
    label.exe = Text(folded.exe());
    label.sub = folded.sub();
    label.values = static_cast<uint32_t>(folded.label_size());
    label.value = folded.label().data();
    label.samples = folded.samples();
    label.low = folded.low();
    label.high = folded.high();
    if (!samples) continue;
    const v1::Sample& kept = folded.exemplar();
    telltale_filter_sample& sample = samples_.emplace_back();
    sample = {};
    sample.struct_size = sizeof sample;
    sample.pid = kept.pid();
    sample.tid = kept.tid();
    sample.cpu = kept.cpu();
    sample.time_ns = kept.time_ns();
    sample.weight = kept.weight();
    sample.comm = Text(kept.comm());
    sample.cgroup = Text(kept.cgroup());
    label.exemplar = &sample;
  }
  view.label_count = static_cast<uint32_t>(labels.size());
  view.labels = labels.data();
}

const char* EpochView::Text(uint32_t index_plus_1) const {
  const auto& strings = body_.tables().strings();
  const int index = static_cast<int>(index_plus_1) - 1;
  return index < 0 || index >= strings.size() ? "" : strings.Get(index).c_str();
}

}  // namespace telltale::filter
