#include "agent/uplink/send_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sketch/time_units.h"

namespace telltale::agent {

void SendQueue::AddFresh(uint64_t sequence, uint64_t bytes, uint64_t due_ns, std::string held) {
  Remove(sequence);
  items_[sequence] = {bytes, true, due_ns, false, 0, std::move(held), false};
  live_.insert(sequence);
}

void SendQueue::AddBacklog(uint64_t sequence, uint64_t bytes) {
  if (!items_.contains(sequence)) items_[sequence] = {bytes, false, 0, false, 0, "", false};
}

void SendQueue::Note(uint64_t sequence, const Item& item) {
  if (item.fresh || item.in_flight) {
    live_.insert(sequence);
  } else {
    live_.erase(sequence);
  }
}

bool SendQueue::Fits(const Item& item) const {
  if (in_flight_ == 0) return true;  // one that is larger than the limit goes alone
  return in_flight_ < limits_.in_flight && in_flight_bytes_ + item.bytes <= limits_.in_flight_bytes;
}

std::optional<uint64_t> SendQueue::Next(uint64_t now_ns) {
  const auto take = [&](uint64_t sequence, Item& item) {
    item.in_flight = true;
    item.sent_ns = now_ns;
    ++in_flight_;
    in_flight_bytes_ += item.bytes;
    live_.insert(sequence);
    return sequence;
  };
  for (auto it = live_.rbegin(); it != live_.rend(); ++it) {
    Item& item = items_.at(*it);
    if (!item.fresh || item.in_flight || item.not_before_ns > now_ns) continue;
    if (!Fits(item)) return std::nullopt;  // nothing older may pass it
    return take(*it, item);
  }
  if (now_ns < next_backlog_ns_) return std::nullopt;
  for (auto it = items_.rbegin(); it != items_.rend(); ++it) {
    Item& item = it->second;
    if (item.fresh || item.in_flight || item.not_before_ns > now_ns) continue;
    if (!Fits(item)) return std::nullopt;
    next_backlog_ns_ = now_ns + kNsPerS / std::max<uint32_t>(1, limits_.backlog_per_s);
    return take(it->first, item);
  }
  return std::nullopt;
}

uint64_t SendQueue::NextTime(uint64_t now_ns) const {
  // As Next goes: what is due and does not fit lets nothing older pass.
  uint64_t earliest = UINT64_MAX;
  // Whether it decides.
  const auto look = [&](const Item& item, uint64_t gate) {
    if (item.in_flight) return false;
    if (item.not_before_ns > gate) {
      earliest = std::min(earliest, item.not_before_ns);
      return false;
    }
    if (Fits(item)) earliest = std::min(earliest, gate);
    return true;
  };
  for (auto it = live_.rbegin(); it != live_.rend(); ++it) {
    const Item& item = items_.at(*it);
    if (item.fresh && look(item, now_ns)) return earliest;
  }
  for (auto it = items_.rbegin(); it != items_.rend(); ++it) {
    const Item& item = it->second;
    if (!item.fresh && look(item, std::max(next_backlog_ns_, now_ns))) return earliest;
  }
  return earliest;
}

const SendQueue::Item* SendQueue::Find(uint64_t sequence) const {
  const auto it = items_.find(sequence);
  return it == items_.end() ? nullptr : &it->second;
}

void SendQueue::Land(Item& item) {
  if (!item.in_flight) return;
  item.in_flight = false;
  --in_flight_;
  in_flight_bytes_ -= item.bytes;
}

bool SendQueue::Remove(uint64_t sequence) {
  const auto it = items_.find(sequence);
  if (it == items_.end()) return false;
  Land(it->second);
  items_.erase(it);
  live_.erase(sequence);
  return true;
}

void SendQueue::DropHeld(uint64_t first, uint64_t last) {
  for (auto it = items_.lower_bound(first); it != items_.end() && it->first <= last;) {
    Item& item = it->second;
    const bool memory_only = !item.held.empty();
    // The collector may have stored what is in flight, so its answer is still waited for. Both said
    // of one sequence do no harm: what a store has received in a lost range stays received.
    if (memory_only && item.in_flight) item.lost = true;
    const bool goes = memory_only && !item.in_flight;
    if (goes) live_.erase(it->first);
    it = goes ? items_.erase(it) : std::next(it);
  }
}

void SendQueue::Defer(uint64_t sequence, uint64_t not_before_ns) {
  const auto it = items_.find(sequence);
  if (it == items_.end()) return;
  if (it->second.lost) {
    Remove(sequence);
    return;
  }
  Land(it->second);
  it->second.fresh = false;
  it->second.not_before_ns = not_before_ns;
  Note(sequence, it->second);
}

void SendQueue::ResetInFlight() {
  for (auto& [sequence, item] : items_) Land(item);
  std::erase_if(items_, [](const auto& entry) { return entry.second.lost; });
  bool newest = true;
  for (auto it = items_.rbegin(); it != items_.rend(); ++it) {
    if (it->second.fresh && !std::exchange(newest, false)) {
      it->second.fresh = false;
      it->second.not_before_ns = 0;
    }
  }
  live_.clear();
  for (const auto& [sequence, item] : items_) Note(sequence, item);
}

void SendQueue::HurryFresh(uint64_t now_ns) {
  for (auto& [sequence, item] : items_) {
    if (item.fresh) item.not_before_ns = std::min(item.not_before_ns, now_ns);
  }
}

uint64_t SendQueue::oldest_sent_ns() const {
  uint64_t oldest = UINT64_MAX;
  for (const uint64_t sequence : live_) {
    const Item& item = items_.at(sequence);
    if (item.in_flight) oldest = std::min(oldest, item.sent_ns);
  }
  return oldest;
}

}  // namespace telltale::agent
