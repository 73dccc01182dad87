#include "collector/filter/detect/open_waits.h"

#include <utility>
#include <vector>

namespace telltale::filter {
namespace {

constexpr uint32_t kStateDetail = 2;  // place of `state` among the details of a wait
// Clocks put the ends of adjacent epochs this far apart without anything being missing.
constexpr uint64_t kJoinNs = 1'500'000'000;
constexpr size_t kProcesses = 256;

bool WatchedThroughout(const telltale_filter_epoch& epoch, const telltale_filter_vital& vital) {
  return vital.watched_ns == epoch.end_ns - epoch.start_ns;
}

// At the cut; how long it went on until then need not be known.
bool StillOpen(const telltale_filter_sample& wait) {
  constexpr uint64_t kOpen = 1, kOpenOfSeveral = 3;  // enum telltale_wait_end, sketch/layout.h
  if (wait.details <= kStateDetail) return false;
  return wait.detail[kStateDetail] == kOpen || wait.detail[kStateDetail] == kOpenOfSeveral;
}

bool OfOneThread(const RuleEpoch& epoch, const telltale_filter_process& process) {
  const auto threads = ColumnOf(epoch.epoch(), TELLTALE_PROCESS_THREADS);
  return process.pid != 0 && process.instances == 1 && threads.has_value() &&
         process.value[*threads] == 1;
}

bool ByChoice(const telltale_filter_vital& blocking, uint32_t sub) {
  return sub < blocking.sub_count &&
         TELLTALE_FILTER_AT(telltale_filter_sub, blocking.subs, sub)->idle != 0;
}

}  // namespace

WaitPlace OpenWaits::PlaceOf(const RuleEpoch& epoch, const telltale_filter_process& process,
                             const char* sub) const {
  const telltale_filter_vital* blocking = epoch.Vital("blocking");
  const int index = blocking == nullptr ? -1 : RuleEpoch::SubOf(*blocking, sub);
  if (index < 0) return {};
  WaitPlace sampled = SampledPlace(epoch, process, static_cast<uint32_t>(index));
  if (sampled.known()) return sampled;
  const Open* open = GoesOn(epoch, process);
  if (open == nullptr || open->sub != static_cast<uint32_t>(index)) return {};
  WaitPlace place = open->place;
  place.before = true;
  return place;
}

const OpenWaits::Open* OpenWaits::GoesOn(const RuleEpoch& epoch,
                                         const telltale_filter_process& process) const {
  const auto open = open_.find(Who(process));
  const telltale_filter_vital* blocking = epoch.Vital("blocking");
  if (open == open_.end() || blocking == nullptr) return nullptr;
  if (epoch.epoch().start_ns > until_ns_ + kJoinNs) return nullptr;
  if (!WatchedThroughout(epoch.epoch(), *blocking)) return nullptr;
  const uint32_t sub = open->second.sub;
  const uint32_t waits = TELLTALE_PROCESS_SHARE(blocking->id, sub, false);
  const uint32_t time = TELLTALE_PROCESS_SHARE(blocking->id, sub, true);
  const bool none = epoch.AtMost(process, waits) <= 0;
  return none && epoch.Of(process, time) > 0 ? &open->second : nullptr;
}

void OpenWaits::Note(const RuleEpoch& epoch) {
  std::map<std::pair<uint32_t, uint64_t>, Open> now;
  const telltale_filter_vital* blocking = epoch.Vital("blocking");
  const std::vector<const telltale_filter_label*> labels = epoch.Labels("blocking");
  for (const telltale_filter_process* process : epoch.Processes()) {
    if (now.size() >= kProcesses) break;
    if (!OfOneThread(epoch, *process)) continue;
    if (const Open* before = GoesOn(epoch, *process)) now[Who(*process)] = *before;
    for (const telltale_filter_label* label : labels) {
      const telltale_filter_sample* wait = label->exemplar;
      if (wait == nullptr || wait->pid != process->pid || !StillOpen(*wait)) continue;
      if (ByChoice(*blocking, label->sub)) continue;
      const WaitPlace place = PlaceOfLabel(*label);
      if (place.known()) now[Who(*process)] = {label->sub, place};
      break;
    }
  }
  open_ = std::move(now);
  until_ns_ = epoch.epoch().end_ns;
}

void OpenWaits::Save(StateWriter& to) const {
  to.Put(until_ns_);
  to.Map(open_, [&](const Open& open) {
    to.Put(open.sub);
    to.Put(open.place.call);
    to.Text(open.place.site);
  });
}

void OpenWaits::Load(StateReader& from) {
  until_ns_ = from.Get<uint64_t>();
  from.Map(open_, [&](Open& open) {
    open.sub = from.Get<uint32_t>();
    open.place.call = from.Get<uint64_t>();
    open.place.site = from.Text();
  });
}

}  // namespace telltale::filter
