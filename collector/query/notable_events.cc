#include "collector/query/notable_events.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace telltale::query {
namespace {

constexpr int kRare = 0, kKilled = 1, kFirstStart = 2, kUsual = 3;

bool KilledByAccident(const v1::EventAnswer& event) {
  if (event.type() != "exit" || !absl::StrContains(event.text(), "killed by ")) return false;
  const auto on_purpose = {" SIGTERM", " SIGINT", " SIGHUP", " SIGPIPE"};
  return std::none_of(on_purpose.begin(), on_purpose.end(),
                      [&](const char* signal) { return absl::EndsWith(event.text(), signal); });
}

int RankOf(const v1::EventAnswer& event, bool started_before) {
  if (event.type() == "exec") return started_before ? kUsual : kFirstStart;
  if (event.type() == "exit") return KilledByAccident(event) ? kKilled : kUsual;
  return kRare;
}

}  // namespace

NotableEvents PickEvents(const v1::EventsAnswer& all, double start_s, size_t most) {
  std::set<std::pair<std::string, std::string>> started;  // (node, executable)
  std::vector<std::pair<int, const v1::EventAnswer*>> picked;
  NotableEvents out;
  for (const v1::EventAnswer& event : all.events()) {
    const bool first = event.type() != "exec" || started.emplace(event.node(), event.exe()).second;
    if (event.time_s() < start_s || event.type() == kNoteType) continue;  // notes are told apart
    const int rank = RankOf(event, !first);
    if (rank == kUsual) {
      ++out.left_out;
    } else {
      picked.emplace_back(rank, &event);
    }
  }
  std::stable_sort(picked.begin(), picked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (picked.size() > most) {
    out.left_out += static_cast<uint32_t>(picked.size() - most);
    picked.resize(most);
  }
  std::stable_sort(picked.begin(), picked.end(), [](const auto& a, const auto& b) {
    return a.second->time_s() < b.second->time_s();
  });
  for (const auto& [rank, event] : picked) *out.events.Add() = *event;
  return out;
}

}  // namespace telltale::query
