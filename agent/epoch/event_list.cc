#include "agent/epoch/event_list.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace telltale::agent {
namespace {

// 0 is most worth keeping. `settled`: who ended in the epoch and had begun before it.
int Class(const FoldedEvent& e, const std::set<uint32_t>& settled) {
  if (e.type != v1::EVENT_TYPE_EXEC && e.type != v1::EVENT_TYPE_EXIT) return 0;
  if (e.exit_signal != 0) return 1;
  if (e.exit_code != 0) return 2;
  return e.type == v1::EVENT_TYPE_EXIT && settled.contains(e.pid) ? 2 : 3;
}

}  // namespace

std::vector<size_t> RankEvents(const std::vector<FoldedEvent>& events, const RawEpoch& raw) {
  std::set<uint32_t> settled;
  for (const RawProcess& process : raw.processes) {
    if (process.exited && process.start_ns < raw.start_mono_ns) settled.insert(process.tgid);
  }
  std::vector<size_t> ranking(events.size());
  std::iota(ranking.begin(), ranking.end(), size_t{0});
  std::ranges::stable_sort(ranking, [&](size_t a, size_t b) {
    const int class_a = Class(events[a], settled), class_b = Class(events[b], settled);
    if (class_a != class_b) return class_a < class_b;
    return events[a].count > events[b].count;
  });
  return ranking;
}

uint64_t WriteEvents(const std::vector<FoldedEvent>& events, const std::vector<size_t>& ranking,
                     size_t limit, const EpochSpan& span, BodyTables& tables,
                     v1::SummaryBody* body) {
  const size_t kept = std::min(limit, ranking.size());
  uint64_t left_out = 0;
  for (size_t i = kept; i < ranking.size(); ++i) left_out += events[ranking[i]].count;
  std::vector<size_t> order(ranking.begin(), ranking.begin() + static_cast<ptrdiff_t>(kept));
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::tie(events[a].first_ns, a) < std::tie(events[b].first_ns, b);
  });
  for (const size_t i : order) {
    const FoldedEvent& e = events[i];
    v1::DiscreteEvent& wire = *body->add_events();
    wire.set_type(e.type);
    wire.set_time_ms(span.Ms(e.first_ns));
    if (e.count == 1) wire.set_pid(e.pid);
    wire.set_exe(tables.String(e.exe));
    wire.set_comm(tables.String(e.comm));
    wire.set_cgroup(tables.String(e.cgroup));
    wire.set_uid(e.uid);
    wire.set_exit_code(e.exit_code);
    wire.set_exit_signal(e.exit_signal);
    wire.set_value(e.value);
    wire.set_text(tables.String(e.text));
    if (e.count > 1) wire.set_count(e.count);
  }
  return left_out;
}

}  // namespace telltale::agent
