// Which record goes next, of a backlog of days.

#include "agent/uplink/send_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sketch/time_units.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kBacklog = 20'000;

class SendQueueTest : public ::testing::Test {
 protected:
  SendQueueTest() {
    for (uint64_t sequence = 1; sequence <= kBacklog; ++sequence) queue_.AddBacklog(sequence, 100);
  }

  void AddFresh(uint64_t due_ns, uint64_t bytes = 100, std::string held = "") {
    queue_.AddFresh(++newest_, bytes, due_ns, std::move(held));
  }
  // All that can be sent within so many seconds, in order.
  std::vector<uint64_t> Sent(uint64_t seconds) {
    std::vector<uint64_t> sent;
    for (const uint64_t end_ns = now_ns_ + seconds * kNsPerS; now_ns_ < end_ns;
         now_ns_ += kNsPerS / 10) {
      while (const auto sequence = queue_.Next(now_ns_)) sent.push_back(*sequence);
    }
    return sent;
  }

  SendQueue queue_;
  uint64_t newest_ = kBacklog;
  uint64_t now_ns_ = 1'000 * kNsPerS;
};

TEST_F(SendQueueTest, FreshOnesThatAreDueGoBeforeTheBacklogAndThoseThatAreNotLetItGo) {
  queue_.set_limits({.in_flight = 100});
  AddFresh(now_ns_);                // 20,001
  AddFresh(now_ns_ + kNsPerS / 2);  // 20,002
  AddFresh(now_ns_);                // 20,003
  EXPECT_EQ(Sent(1), (std::vector<uint64_t>{20'003, 20'001, 20'000, 19'999, 19'998, 19'997, 19'996,
                                            20'002, 19'995, 19'994, 19'993, 19'992, 19'991}));
}

TEST_F(SendQueueTest, WhatWasPutOffIsBacklogFromThenOn) {
  queue_.set_limits({.in_flight = 100, .backlog_per_s = 1});
  AddFresh(now_ns_);
  ASSERT_EQ(queue_.Next(now_ns_), 20'001u);
  queue_.Defer(20'001, now_ns_ + 2 * kNsPerS);
  EXPECT_FALSE(queue_.FreshOrInFlight());
  EXPECT_EQ(Sent(4), (std::vector<uint64_t>{20'000, 19'999, 20'001, 19'998}));
}

TEST_F(SendQueueTest, WhenAStreamEndsOnlyTheNewestEpochStaysFresh) {
  queue_.set_limits({.in_flight = 100, .backlog_per_s = 1});
  AddFresh(now_ns_ + 2 * kNsPerS);
  AddFresh(now_ns_ + 2 * kNsPerS);
  ASSERT_EQ(Sent(1), std::vector<uint64_t>{20'000});
  queue_.ResetInFlight();
  EXPECT_EQ(queue_.in_flight(), 0u);
  EXPECT_EQ(queue_.oldest_sent_ns(), UINT64_MAX);
  EXPECT_EQ(Sent(2), (std::vector<uint64_t>{20'001, 20'002, 20'000}));
}

// Beside a look at all records, whatever happened to them.
class SendQueueModelTest : public SendQueueTest {
 protected:
  struct Expected {
    std::optional<uint64_t> next;
    bool live = false;
    uint64_t oldest_sent_ns = UINT64_MAX;
  };
  Expected Look() const {
    Expected expected;
    std::optional<uint64_t> fresh, backlog;
    for (uint64_t sequence = 1; sequence <= newest_; ++sequence) {
      const SendQueue::Item* const item = queue_.Find(sequence);
      if (item == nullptr) continue;
      expected.live |= item->fresh || item->in_flight;
      if (item->in_flight) {
        expected.oldest_sent_ns = std::min(expected.oldest_sent_ns, item->sent_ns);
      } else if (item->not_before_ns <= now_ns_) {
        (item->fresh ? fresh : backlog) = sequence;
      }
    }
    if (!fresh && now_ns_ >= next_backlog_ns_) fresh = backlog;
    if (fresh && Fits(queue_.Find(*fresh)->bytes)) expected.next = fresh;
    return expected;
  }
  bool Fits(uint64_t bytes) const {
    const SendQueue::Limits& limits = queue_.limits();
    return queue_.in_flight() == 0 || (queue_.in_flight() < limits.in_flight &&
                                       queue_.in_flight_bytes() + bytes <= limits.in_flight_bytes);
  }
  // One that is in flight; nothing if none is.
  std::optional<uint64_t> AnyInFlight() {
    if (in_flight_.empty()) return std::nullopt;
    std::swap(in_flight_[Random(in_flight_.size())], in_flight_.back());
    const uint64_t sequence = in_flight_.back();
    in_flight_.pop_back();
    return sequence;
  }
  uint64_t Random(uint64_t below) { return random_() % below; }

  void Send() {
    const Expected expected = Look();
    EXPECT_EQ(queue_.FreshOrInFlight(), expected.live);
    EXPECT_EQ(queue_.oldest_sent_ns(), expected.oldest_sent_ns);
    const uint64_t wake_ns = queue_.NextTime(now_ns_);
    EXPECT_EQ(wake_ns <= now_ns_, expected.next.has_value()) << "neither late nor in vain";
    const auto next = queue_.Next(now_ns_);
    ASSERT_EQ(next, expected.next);
    if (!next) {
      if (wake_ns != UINT64_MAX) now_ns_ = wake_ns;
      return;
    }
    in_flight_.push_back(*next);
    if (!queue_.Find(*next)->fresh) {
      next_backlog_ns_ = now_ns_ + kNsPerS / queue_.limits().backlog_per_s;
    }
  }
  void Happen() {
    const uint64_t what = Random(100);
    if (what < 20) {
      const std::string held(Random(2), 'r');
      AddFresh(now_ns_ + Random(3) * kNsPerS, 100 + Random(600'000), held);
    } else if (what < 45) {
      if (const auto sequence = AnyInFlight()) queue_.Remove(*sequence);
    } else if (what < 65) {
      if (const auto sequence = AnyInFlight()) {
        queue_.Defer(*sequence, now_ns_ + Random(3) * kNsPerS);
      }
    } else if (what < 75) {
      const uint64_t first = newest_ - Random(20);
      queue_.DropHeld(first, first + 3);
    } else if (what < 78) {
      queue_.ResetInFlight();
      in_flight_.clear();
    } else if (what < 80) {
      queue_.HurryFresh(now_ns_);
    } else {
      now_ns_ += Random(kNsPerS / 5);
    }
  }

  std::mt19937 random_{20'000};
  std::vector<uint64_t> in_flight_;
  uint64_t next_backlog_ns_ = 0;
};

TEST_F(SendQueueModelTest, TheNextIsTheOneThatALookAtAllRecordsFinds) {
  size_t sent = 0;
  for (int step = 0; step < 500 && !HasFailure(); ++step) {
    Happen();
    const size_t before = in_flight_.size();
    Send();
    sent += in_flight_.size() - before;
  }
  EXPECT_GT(sent, 150u);
  EXPECT_GT(newest_, kBacklog + 50);
}

}  // namespace
}  // namespace telltale::agent
