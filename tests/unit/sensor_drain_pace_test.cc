// When the ring of samples is drained: soon while processes may be gone in a moment, seldom on a
// quiet host.

#include "agent/sensor/drain_pace.h"

#include <gtest/gtest.h>

namespace telltale::agent {
namespace {

constexpr uint64_t kStart = 1'000 * kNsPerS;

// The rest after `drains` more, each after the whole rest before it.
uint64_t RestAfter(DrainPace& pace, int drains, uint64_t& now) {
  for (int i = 0; i < drains; ++i) {
    now += pace.rest_ns();
    pace.Drained(now, false, false);
  }
  return pace.rest_ns();
}

TEST(DrainPaceTest, EachQuietRestIsTwiceAsLongUpToASecond) {
  DrainPace pace;
  uint64_t now = kStart;
  EXPECT_EQ(RestAfter(pace, 0, now), 100 * kNsPerMs);
  EXPECT_EQ(RestAfter(pace, 1, now), 200 * kNsPerMs);
  EXPECT_EQ(RestAfter(pace, 1, now), 400 * kNsPerMs);
  EXPECT_EQ(RestAfter(pace, 10, now), kNsPerS);
}

TEST(DrainPaceTest, AProgramThatWasStartedIsWatchedCloselyForASecond) {
  DrainPace pace;
  uint64_t now = kStart;
  RestAfter(pace, 10, now);
  pace.Drained(now, true, true);
  const uint64_t started = now;
  while (now < started + kNsPerS) {
    EXPECT_EQ(pace.rest_ns(), 100 * kNsPerMs);
    RestAfter(pace, 1, now);
  }
  EXPECT_EQ(pace.rest_ns(), 200 * kNsPerMs);
}

TEST(DrainPaceTest, ARestEndedEarlyIsFollowedByAShortOne) {
  DrainPace pace;
  uint64_t now = kStart;
  RestAfter(pace, 10, now);
  pace.Drained(now + 300 * kNsPerMs, false, true);
  EXPECT_EQ(pace.rest_ns(), 100 * kNsPerMs);
}

}  // namespace
}  // namespace telltale::agent
