#include "agent/uplink/clock_offset.h"

#include <algorithm>

namespace telltale::agent {
namespace {

constexpr size_t kExchanges = 8;
constexpr int64_t kStepNs = 10'000'000;  // wall and monotonic may differ this much in one exchange
constexpr uint64_t kMaxUnixNs = 4'102'444'800'000'000'000;  // year 2100; keeps the sums in int64

}  // namespace

bool ClockOffset::Add(const v1::ProbeReply& reply, uint64_t got_unix_ns,
                      uint64_t round_trip_mono_ns) {
  const uint64_t latest = std::max(
      {reply.sent_unix_ns(), reply.received_unix_ns(), reply.replied_unix_ns(), got_unix_ns});
  if (latest > kMaxUnixNs) return false;
  const auto sent = static_cast<int64_t>(reply.sent_unix_ns());
  const auto received = static_cast<int64_t>(reply.received_unix_ns());
  const auto replied = static_cast<int64_t>(reply.replied_unix_ns());
  const auto got = static_cast<int64_t>(got_unix_ns);
  const auto mono = static_cast<int64_t>(std::min<uint64_t>(round_trip_mono_ns, INT64_MAX / 2));
  if (std::abs((got - sent) - mono) > kStepNs) {
    exchanges_.clear();
    return false;
  }
  const int64_t round_trip = mono - (replied - received);
  if (replied < received || round_trip < 0) return false;
  exchanges_.push_back({(received - sent) / 2 + (replied - got) / 2,
                        std::max<uint64_t>(1, static_cast<uint64_t>(round_trip) / 2)});
  if (exchanges_.size() > kExchanges) exchanges_.pop_front();
  best_ = *std::min_element(
      exchanges_.begin(), exchanges_.end(),
      [](const Exchange& a, const Exchange& b) { return a.error_ns < b.error_ns; });
  return true;
}

}  // namespace telltale::agent
