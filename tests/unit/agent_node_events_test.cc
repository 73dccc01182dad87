// What the agent tells of itself and of the node's clock, once each.

#include "agent/epoch/node_events.h"

#include <gtest/gtest.h>

#include "agent/epoch/event_list.h"

namespace telltale::agent {
namespace {

constexpr int64_t kMs = 1'000'000, kSecond = 1'000 * kMs;
constexpr int64_t kOffset = 1'795'000'000 * kSecond;
constexpr uint64_t kStart = 500 * kSecond, kEnd = 510 * kSecond;

NodeEvents AtStart() { return NodeEvents({kOffset + kStart, kStart, "1.2.3"}); }

std::vector<FoldedEvent> Told(const NodeEvents& events, int64_t wall_minus_mono_ns) {
  FoldedEpoch epoch;
  events.Add(wall_minus_mono_ns, kEnd, epoch);
  return epoch.events;
}

TEST(NodeEventsTest, TellsTheStartWithItsVersionInTheFirstEpochOnly) {
  NodeEvents events = AtStart();
  FoldedEpoch epoch;
  events.Add(kOffset, kEnd, epoch);
  ASSERT_EQ(epoch.events.size(), 1u);
  v1::SummaryBody body;
  BodyTables tables(epoch.tables, *body.mutable_tables());
  // The agent starts before its sensor: the event stands at the begin of the epoch.
  EXPECT_EQ(WriteEvents(epoch.events, RankEvents(epoch.events, {}), 10, {kStart + kSecond, kEnd},
                        tables, &body),
            0u);
  ASSERT_EQ(body.events_size(), 1);
  EXPECT_EQ(body.events(0).type(), v1::EVENT_TYPE_AGENT_START);
  EXPECT_EQ(body.events(0).time_ms(), 0u);
  ASSERT_GT(body.events(0).text(), 0u);
  EXPECT_EQ(body.tables().strings(static_cast<int>(body.events(0).text()) - 1), "1.2.3");
  events.Said(kOffset);
  EXPECT_TRUE(Told(events, kOffset).empty());
}

TEST(NodeEventsTest, KeepsWhatADraftOrAFailedCutHasToldForTheEpochThatIsMade) {
  const NodeEvents events = AtStart();
  EXPECT_EQ(Told(events, kOffset).size(), 1u);
  EXPECT_EQ(Told(events, kOffset).size(), 1u);
}

TEST(NodeEventsTest, TellsHowFarAndWhichWayTheClockWasSet) {
  NodeEvents events = AtStart();
  events.Said(kOffset);
  for (const int64_t step : {-3'600 * kSecond, 250 * kMs}) {
    const std::vector<FoldedEvent> told = Told(events, kOffset + step);
    ASSERT_EQ(told.size(), 1u) << step;
    EXPECT_EQ(told[0].type, v1::EVENT_TYPE_CLOCK_STEP);
    EXPECT_EQ(told[0].value, step);
    FoldedEpoch epoch;
    v1::SummaryBody body;
    BodyTables tables(epoch.tables, *body.mutable_tables());
    WriteEvents(told, RankEvents(told, {}), 10, {kStart, kEnd}, tables, &body);
    ASSERT_EQ(body.events_size(), 1);
    EXPECT_EQ(body.events(0).value(), step);
    EXPECT_EQ(body.events(0).time_ms(), 10'000u);  // the cut that found it
  }
  events.Said(kOffset + kSecond);
  EXPECT_TRUE(Told(events, kOffset + kSecond).empty());  // once
}

TEST(NodeEventsTest, SeesAStepBetweenTheStartAndTheFirstCut) {
  const std::vector<FoldedEvent> told = Told(AtStart(), kOffset + 7 * kSecond);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].value, 7 * kSecond);
}

TEST(NodeEventsTest, TakesWhatTwoReadingsDifferByForNoStep) {
  NodeEvents events = AtStart();
  int64_t offset = kOffset;
  events.Said(offset);
  for (int cut = 0; cut < 20; ++cut) {
    offset += 60 * kMs;
    EXPECT_TRUE(Told(events, offset).empty());
    events.Said(offset);
  }
}

}  // namespace
}  // namespace telltale::agent
