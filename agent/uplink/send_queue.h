// Which summary goes next: fresh epochs when their moment has come, then the backlog from newest to
// oldest at a bounded rate, never more under way than allowed. Times are CLOCK_MONOTONIC ns. Value
// type; the uplink's main thread.

#ifndef TELLTALE_AGENT_UPLINK_SEND_QUEUE_H_
#define TELLTALE_AGENT_UPLINK_SEND_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace telltale::agent {

class SendQueue {
 public:
  struct Limits {
    uint32_t in_flight = 16;
    uint64_t in_flight_bytes = 1 << 20;
    uint32_t backlog_per_s = 10;
  };
  struct Item {
    uint64_t bytes = 0;
    bool fresh = false;  // else backlog
    uint64_t not_before_ns = 0;
    bool in_flight = false;
    uint64_t sent_ns = 0;
    std::string held;   // the record itself, where there is no file
    bool lost = false;  // dropped while in flight: gone when the answer or the stream's end comes
  };

  void set_limits(const Limits& limits) { limits_ = limits; }
  const Limits& limits() const { return limits_; }

  // A fresh epoch is due at `due_ns`; of the backlog any time.
  void AddFresh(uint64_t sequence, uint64_t bytes, uint64_t due_ns, std::string held);
  void AddBacklog(uint64_t sequence, uint64_t bytes);

  // The next to send now, marked in flight; nothing if none is due or the limits are reached.
  std::optional<uint64_t> Next(uint64_t now_ns);
  // Earliest time at which Next may have something, UINT64_MAX: not before something changes.
  uint64_t NextTime(uint64_t now_ns) const;

  const Item* Find(uint64_t sequence) const;
  // Settled, refused or gone. False: not in the queue.
  bool Remove(uint64_t sequence);
  // [first, last] are declared lost: those held in memory only are not sent any more.
  void DropHeld(uint64_t first, uint64_t last);
  // Not now: back to the backlog, not before then.
  void Defer(uint64_t sequence, uint64_t not_before_ns);
  // The stream ended: nothing is in flight; all but the newest fresh epoch belongs to the backlog.
  void ResetInFlight();
  // A stop is near: every fresh epoch is due now.
  void HurryFresh(uint64_t now_ns);
  // Sequences up to and including this one are settled. Returns the removed ones through `removed`.
  template <typename F>
  void RemoveThrough(uint64_t sequence, F removed) {
    while (!items_.empty() && items_.begin()->first <= sequence) {
      const uint64_t first = items_.begin()->first;
      Remove(first);
      removed(first);
    }
  }

  bool FreshOrInFlight() const { return !live_.empty(); }
  uint64_t oldest() const { return items_.empty() ? 0 : items_.begin()->first; }
  size_t size() const { return items_.size(); }
  uint32_t in_flight() const { return in_flight_; }
  uint64_t in_flight_bytes() const { return in_flight_bytes_; }
  uint64_t oldest_sent_ns() const;  // of what is in flight; UINT64_MAX: nothing

 private:
  bool Fits(const Item& item) const;
  void Land(Item& item);
  // After its `fresh` or `in_flight` changed.
  void Note(uint64_t sequence, const Item& item);

  Limits limits_;
  std::map<uint64_t, Item> items_;  // by sequence
  // Those that are fresh or in flight: a few, where the backlog of days is tens of thousands.
  std::set<uint64_t> live_;
  uint32_t in_flight_ = 0;
  uint64_t in_flight_bytes_ = 0;
  uint64_t next_backlog_ns_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_SEND_QUEUE_H_
