#include "storage/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace telltale::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

LostRange Lost(uint64_t first, uint64_t last) {
  LostRange lost;
  lost.first = first;
  lost.last = last;
  lost.reason = v1::Lost::SPOOL_FULL;
  return lost;
}

TEST(LedgerTest, AdjacentNumbersBecomeOneRange) {
  SequenceLedger ledger;
  for (uint64_t sequence : {5, 3, 4, 1, 2}) ledger.AddReceived(sequence);
  EXPECT_THAT(ledger.received(), ElementsAre(Pair(1, 5)));
  EXPECT_EQ(ledger.received_through(), 5u);
  EXPECT_EQ(ledger.received_count(), 5u);
}

TEST(LedgerTest, DeclaresTheGapBetweenTwoReceivedRanges) {
  SequenceLedger ledger;
  for (uint64_t sequence : {1, 2, 6, 7}) ledger.AddReceived(sequence);
  EXPECT_EQ(ledger.received_through(), 2u);
  EXPECT_EQ(ledger.missing_count(), 3u);
  ledger.AddLost(Lost(1, 9));  // overlaps what was received
  EXPECT_EQ(ledger.lost_count(), 5u) << "3, 4, 5, 8, 9";
  EXPECT_EQ(ledger.missing_count(), 0u);
  EXPECT_EQ(ledger.received_through(), 9u);
  EXPECT_FALSE(ledger.DeclaredLost(2));
  EXPECT_TRUE(ledger.DeclaredLost(8));
}

TEST(LedgerTest, WhatArrivesAfterAllIsNoLongerLost) {
  SequenceLedger ledger;
  ledger.AddLost(Lost(3, 5));
  ledger.AddReceived(4);
  EXPECT_TRUE(ledger.Received(4));
  EXPECT_FALSE(ledger.DeclaredLost(4));
  EXPECT_EQ(ledger.lost_count(), 2u);
  EXPECT_TRUE(ledger.DeclaredLost(3));
  EXPECT_TRUE(ledger.DeclaredLost(5));
}

TEST(LedgerTest, DeclaringTwiceCountsOnce) {
  SequenceLedger ledger;
  ledger.AddLost(Lost(3, 5));
  ledger.AddLost(Lost(4, 8));
  EXPECT_EQ(ledger.lost_count(), 6u);
}

TEST(LedgerTest, RecordRoundTrips) {
  SequenceLedger ledger;
  for (uint64_t sequence : {1, 2, 6, 9}) ledger.AddReceived(sequence);
  ledger.AddLost(Lost(4, 5));
  const SequenceLedger again = *SequenceLedger::FromRecord(ledger.ToRecord());
  EXPECT_EQ(again.ToRecord().SerializeAsString(), ledger.ToRecord().SerializeAsString());
  EXPECT_EQ(again.received_count(), 4u);
  EXPECT_EQ(again.lost_count(), 2u);
}

TEST(LedgerTest, ADamagedRecordIsRefused) {
  v1::LedgerRecord record;
  record.add_received_first(5);
  record.add_received_length(UINT64_MAX);
  EXPECT_FALSE(SequenceLedger::FromRecord(record).ok());
  record.set_received_length(0, 3);
  record.add_received_first(6);
  record.add_received_length(1);
  EXPECT_FALSE(SequenceLedger::FromRecord(record).ok()) << "overlaps";
}

TEST(LedgerTest, MemoryIsBoundedAndWhatIsSettledCountsAsLost) {
  SequenceLedger ledger;
  const uint64_t n = SequenceLedger::kMaxRanges + 100;
  for (uint64_t i = 0; i < n; ++i) ledger.AddReceived(2 * i + 1);  // every second number
  EXPECT_LE(ledger.received().size(), SequenceLedger::kMaxRanges);
  EXPECT_EQ(ledger.received_count(), n);
  EXPECT_EQ(ledger.settled_through(), 199u);
  EXPECT_EQ(ledger.lost_count(), 99u) << "2, 4 ... 198";
  EXPECT_EQ(ledger.received_count() + ledger.lost_count() + ledger.missing_count(),
            ledger.highest());
}

TEST(LedgerTest, AgreesWithASetOfSingleNumbers) {
  SequenceLedger ledger;
  std::set<uint64_t> received, lost;
  uint64_t state = 1;
  const auto below = [&state](uint64_t n) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % n;
  };
  for (int i = 0; i < 3000; ++i) {
    if (below(3) != 0) {
      const uint64_t sequence = 1 + below(400);
      ledger.AddReceived(sequence);
      received.insert(sequence);
      lost.erase(sequence);
    } else {
      const uint64_t first = 1 + below(400);
      const uint64_t last = first + below(6);
      ledger.AddLost(Lost(first, last));
      for (uint64_t s = first; s <= last; ++s) {
        if (!received.contains(s)) lost.insert(s);
      }
    }
    ASSERT_EQ(ledger.received_count(), received.size()) << i;
    ASSERT_EQ(ledger.lost_count(), lost.size()) << i;
    uint64_t through = 0;
    while (received.contains(through + 1) || lost.contains(through + 1)) ++through;
    ASSERT_EQ(ledger.received_through(), through) << i;
  }
}

TEST(LedgerTest, ExpiredDaysAreSettledAndTheSumsStay) {
  SequenceLedger ledger;
  for (uint64_t s : {1, 2, 5, 6}) {
    ledger.AddReceived(s);
    ledger.NoteDay(100, s);
  }
  for (uint64_t s : {8, 9}) {
    ledger.AddReceived(s);
    ledger.NoteDay(101, s);
  }
  ledger.AddLost(Lost(3, 3));  // 4 and 7 are missing
  ledger.Expire(100, UINT64_MAX);
  EXPECT_EQ(ledger.settled_through(), 0u) << "nothing has expired";
  ledger = *SequenceLedger::FromRecord(ledger.ToRecord());
  ledger.Expire(101, UINT64_MAX);
  EXPECT_EQ(ledger.settled_through(), 6u) << "7 may still come: it may lie in day 101";
  EXPECT_EQ(ledger.received_count(), 6u);
  EXPECT_EQ(ledger.lost_count(), 2u) << "3, and 4 which can come no more";
  EXPECT_EQ(ledger.missing_count(), 1u);
  EXPECT_THAT(ledger.received(), ElementsAre(std::pair<uint64_t, uint64_t>(8, 9)));
  EXPECT_TRUE(ledger.lost().empty());
  ledger.AddReceived(4);
  EXPECT_EQ(ledger.received_count(), 6u) << "too late";
  const SequenceLedger again = *SequenceLedger::FromRecord(ledger.ToRecord());
  EXPECT_EQ(again.ToRecord().SerializeAsString(), ledger.ToRecord().SerializeAsString());
  EXPECT_EQ(again.lost_count(), 2u);
}

TEST(LedgerTest, NumbersThatMayLieInALaterDayAreNotSettled) {
  SequenceLedger ledger;
  // The clock was set back after 3: 4 lies a day earlier.
  for (const auto& [s, day] : {std::pair{1, 100}, {2, 101}, {3, 101}, {4, 100}, {5, 101}}) {
    ledger.AddReceived(s);
    ledger.NoteDay(day, s);
  }
  ledger.Expire(101, UINT64_MAX);
  EXPECT_EQ(ledger.settled_through(), 1u);
  ledger.Expire(102, UINT64_MAX);
  EXPECT_EQ(ledger.settled_through(), 5u);
}

TEST(LedgerTest, LossesOfKnownTimeExplainGapsUntilTheirTimeHasExpired) {
  SequenceLedger ledger;
  LostRange timed = Lost(2, 3);
  timed.start_ns = 1000;
  timed.end_ns = 2000;
  ledger.AddLost(timed);
  ledger.AddLost(Lost(4, 4));
  ledger.AddReceived(5);
  ledger.NoteDay(100, 5);
  ledger.Expire(101, 1999);
  ASSERT_EQ(ledger.lost().size(), 1u) << "4 explains nothing";
  EXPECT_EQ(ledger.lost()[0].first, 2u);
  EXPECT_EQ(ledger.lost_count(), 4u) << "1 to 4";
  ledger = *SequenceLedger::FromRecord(ledger.ToRecord());
  EXPECT_EQ(ledger.lost_count(), 4u);
  ledger.Expire(101, 2000);
  EXPECT_TRUE(ledger.lost().empty());
  ledger = *SequenceLedger::FromRecord(ledger.ToRecord());
  EXPECT_EQ(ledger.lost_count(), 4u);
}

TEST(LedgerTest, AfterAnyHistorySettlingKeepsEverySum) {
  SequenceLedger settled, whole;
  uint64_t state = 7;
  const auto below = [&state](uint64_t n) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % n;
  };
  uint16_t floor = 0;
  for (uint64_t step = 0; step < 4000; ++step) {
    // Day 1 holds 1 to 10, day 2 holds 11 to 20 ...; arrivals lag by up to 3 days.
    const uint64_t newest = 10 + step / 8;
    const uint64_t sequence = newest - std::min(newest - 1, below(30));
    const uint16_t day = static_cast<uint16_t>(1 + (sequence - 1) / 10);
    if (below(4) != 0) {
      if (day < floor) continue;  // the store does not take it in
      settled.AddReceived(sequence);
      settled.NoteDay(day, sequence);
      whole.AddReceived(sequence);
    } else {
      LostRange lost = Lost(sequence, sequence + below(3));
      lost.start_ns = below(2) * 10 * day;
      lost.end_ns = lost.start_ns + (lost.start_ns != 0 ? 10 : 0);
      settled.AddLost(lost);
      // What is settled takes no more.
      if (lost.last > settled.settled_through()) {
        lost.first = std::max(lost.first, settled.settled_through() + 1);
        whole.AddLost(lost);
      }
    }
    if (step % 50 == 0) {
      floor = static_cast<uint16_t>(newest / 10 > 4 ? newest / 10 - 4 : 0);
      settled.Expire(floor, floor > 3 ? (floor - 3) * 10 : 0);
    }
    ASSERT_EQ(settled.received_count(), whole.received_count()) << step;
    ASSERT_EQ(settled.lost_count() + settled.missing_count(),
              whole.lost_count() + whole.missing_count())
        << step;
    ASSERT_LE(settled.received().size(), 80u) << step;
    settled = *SequenceLedger::FromRecord(settled.ToRecord());
  }
  EXPECT_GT(settled.settled_through(), 400u);
}

EpochSpan Span(uint64_t start_s, uint64_t end_s, uint64_t watched_s) {
  return {start_s * kSecondNs, end_s * kSecondNs, watched_s * kSecondNs, false};
}

TEST(CoverageTest, AdjacentWatchedEpochsGrowTogetherInAnyOrder) {
  CoverageDay forward, backward;
  for (uint64_t i = 0; i < 100; ++i) {
    forward.Add(Span(60 * i, 60 * i + 60, 60));
    backward.Add(Span(60 * (99 - i), 60 * (99 - i) + 60, 60));
  }
  ASSERT_EQ(forward.pieces().size(), 1u);
  EXPECT_EQ(forward.pieces()[0].epochs, 100u);
  EXPECT_EQ(forward.ToRecord().SerializeAsString(), backward.ToRecord().SerializeAsString());
}

TEST(CoverageTest, WatchedUnwatchedAndStoppedAddUpToTheRange) {
  CoverageDay day;
  day.Add(Span(0, 60, 60));
  day.Add(Span(60, 120, 30));   // the sensor was away for half of it
  day.Add(Span(240, 300, 60));  // two epochs are missing before it
  day.AddStop({300 * kSecondNs, v1::Goodbye::STOP});
  LostRange lost = Lost(3, 3);
  lost.start_ns = 120 * kSecondNs;
  lost.end_ns = 180 * kSecondNs;
  const CoverageView view = ViewCoverage(day.pieces(), day.stops(), {lost}, 0, 600 * kSecondNs);
  EXPECT_EQ(view.watched_ns, 150 * kSecondNs);
  EXPECT_EQ(view.unwatched_ns, 150 * kSecondNs);
  EXPECT_EQ(view.stopped_ns, 300 * kSecondNs) << "a planned stop is not a gap";
  EXPECT_EQ(view.epochs, 3u);
  EXPECT_EQ(view.epochs_lost, 1u);
  ASSERT_EQ(view.gaps.size(), 3u);
  EXPECT_EQ(view.gaps[0].cause, Gap::Cause::kDeclaredLost);
  EXPECT_EQ(view.gaps[0].detail, "spool full");
  EXPECT_EQ(view.gaps[0].end_ns, 180 * kSecondNs);
  EXPECT_EQ(view.gaps[1].cause, Gap::Cause::kMissing);
  EXPECT_EQ(view.gaps[2].cause, Gap::Cause::kStopped);
}

TEST(CoverageTest, ASilenceWithoutAGoodbyeIsAGap) {
  CoverageDay day;
  day.AddStop({30 * kSecondNs, v1::Goodbye::RESTART});
  day.Add(Span(60, 120, 60));
  const CoverageView view = ViewCoverage(day.pieces(), day.stops(), {}, 0, 300 * kSecondNs);
  EXPECT_EQ(view.stopped_ns, 0u)
      << "the stop lies before the last epoch and after the first gap began";
  EXPECT_EQ(view.unwatched_ns, 240 * kSecondNs);
}

TEST(CoverageTest, WhatGoesOnAfterAStopIsNotExplainedByIt) {
  CoverageDay day;
  day.Add(Span(0, 600, 600));
  day.AddStop({300 * kSecondNs, v1::Goodbye::STOP});  // another machine's, with its certificate
  CoverageView view = ViewCoverage(day.pieces(), day.stops(), {}, 0, 900 * kSecondNs);
  EXPECT_EQ(view.stopped_ns, 0u);
  EXPECT_EQ(view.unwatched_ns, 300 * kSecondNs);

  CoverageDay behind;  // the node's clock is a little ahead of the collector's
  behind.Add(Span(0, 305, 305));
  behind.AddStop({300 * kSecondNs, v1::Goodbye::STOP});
  view = ViewCoverage(behind.pieces(), behind.stops(), {}, 0, 900 * kSecondNs);
  EXPECT_EQ(view.stopped_ns, 595 * kSecondNs);
}

TEST(CoverageTest, PiecesAreBoundedAndKeepTheWatchedTime) {
  CoverageDay day;
  const uint64_t n = CoverageDay::kMaxPieces * 2;
  for (uint64_t i = 0; i < n; ++i) day.Add(Span(20 * i, 20 * i + 10, 10));
  EXPECT_LE(day.pieces().size(), CoverageDay::kMaxPieces);
  uint64_t watched = 0;
  for (const CoveragePiece& piece : day.pieces()) watched += piece.watched_ns;
  EXPECT_EQ(watched, n * 10 * kSecondNs);
}

}  // namespace
}  // namespace telltale::storage
