// A filter over the past again: what the live run said, byte for byte, also of what was told later.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "collector/filter/replay.h"
#include "tests/unit/filter_world.h"

namespace telltale::filter {
namespace {

class FilterReplayTest : public ::testing::Test, protected World {};

std::string Bytes(const std::vector<v1::Anomaly>& anomalies) {
  std::string bytes;
  for (const v1::Anomaly& anomaly : anomalies) bytes += anomaly.SerializeAsString();
  return bytes;
}

absl::StatusOr<Replayed> Try(World& world, uint64_t from, uint64_t to, storage::DerivedStore* store,
                             uint64_t max_bytes = 256 << 20) {
  LocalFilter filter(world.filters_.front());
  return Replay({.code = &filter,
                 .filter_options = {},
                 .source = &world.source_,
                 .store = store,
                 .node = world.source_.Nodes().front(),
                 .from_ns = kBegin + from * kEpoch,
                 .to_ns = kBegin + to * kEpoch,
                 .max_bytes = max_bytes},
                [] { return false; });
}

Replayed Again(World& world, uint64_t from, uint64_t to) {
  const auto replayed = Try(world, from, to, &world.store_);
  EXPECT_TRUE(replayed.ok()) << replayed.status();
  return replayed.ok() ? *replayed : Replayed();
}

// Three hours with spikes, one that lasts across the beginning of an hour, and an epoch too late.
TEST_F(FilterReplayTest, ARunOverThePastSaysTheSameByteForByteAndNamesWhatCameTooLate) {
  const auto rate = [](uint64_t i) {
    return (i > 355 && i < 364) || i % 211 == 100 ? 6.0 : Quiet(i);
  };
  for (uint64_t i = 0; i < 1'080; ++i) {
    if (i != 500) Arrive(i, rate(i));
    Look();
  }
  Arrive(500, 50);
  Look();
  const auto listed = [&](uint64_t from, uint64_t to) {
    AnomalyQuery query;
    query.from_ns = kBegin + from * kEpoch;
    query.to_ns = kBegin + to * kEpoch;
    return Bytes(List(query));
  };
  for (const auto& [from, to] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 1'080}, {361, 1'080}, {400, 720}, {700, 730}, {40, 300}}) {
    const Replayed again = Again(*this, from, to);
    EXPECT_EQ(Bytes(again.anomalies), Bytes(again.live)) << from << " to " << to;
    EXPECT_EQ(Bytes(again.live), listed(from, to));
    EXPECT_EQ(again.late_ns.size(), from <= 500 && 500 < to ? 1u : 0u);
  }
  EXPECT_FALSE(listed(361, 1'080).empty());
  EXPECT_EQ(Again(*this, 400, 720).late_ns[0], kBegin + 500 * kEpoch);
  // Asking twice gives the same, and nothing of it is kept.
  const std::string before = Bytes(List());
  EXPECT_EQ(Bytes(Again(*this, 0, 1'080).anomalies), Bytes(Again(*this, 0, 1'080).anomalies));
  EXPECT_EQ(Bytes(List()), before);
}

// Says of epoch `begins` that something began, when it is shown `tells`, and that it is over when
// it is shown `ends`. As a rule it needs no state: it counts by the clock. `facts`: so many it
// tells with it.
template <uint64_t begins, uint64_t tells, uint64_t ends, uint32_t facts = 0>
const telltale_filter* Later() {
  static const telltale_filter filter = [] {
    telltale_filter made = {};
    made.struct_size = sizeof made;
    made.abi = TELLTALE_FILTER_ABI;
    made.name = "later";
    made.version = 1;
    made.create = [](const telltale_filter_host* host, const telltale_filter_option*,
                     uint32_t) -> void* { return new telltale_filter_host(*host); };
    made.destroy = [](void* instance) { delete static_cast<telltale_filter_host*>(instance); };
    made.epoch = [](void* instance, const telltale_filter_epoch* shown) {
      const auto& host = *static_cast<telltale_filter_host*>(instance);
      const uint64_t number = (shown->start_ns - kBegin) / kEpoch;
      if (number != tells && number != ends) return 0;
      telltale_filter_anomaly anomaly = {};
      anomaly.struct_size = sizeof anomaly;
      anomaly.vital = "cpu";
      anomaly.sub = "";
      anomaly.start_ns = kBegin + begins * kEpoch;
      anomaly.end_ns = shown->end_ns;
      anomaly.open = number == tells ? 1 : 0;
      const telltale_filter_fact fact = {
          .struct_size = sizeof fact, .name = "waits", .value = 3, .unit = "1"};
      anomaly.facts = &fact;
      anomaly.fact_count = facts;
      host.anomaly(host.context, &anomaly);
      return 0;
    };
    return made;
  }();
  return &filter;
}

// A point an epoch, whose value is `other` every hundredth time, and a mark every so many.
template <int other, int marked>
const telltale_filter* Draws() {
  static const telltale_filter filter = [] {
    telltale_filter made = *Later<100, 102, 500>();
    made.name = "draws";
    made.epoch = [](void* instance, const telltale_filter_epoch* shown) {
      const auto& host = *static_cast<telltale_filter_host*>(instance);
      const uint64_t number = (shown->start_ns - kBegin) / kEpoch;
      telltale_filter_point point = {};
      point.struct_size = sizeof point;
      point.series = "all";
      point.vital = "cpu";
      point.sub = "";
      point.time_ns = shown->start_ns;
      point.value = number % 100 == 0 ? other : 0;
      host.point(host.context, &point);
      if (number % marked != 0) return 0;
      telltale_filter_mark mark = {};
      mark.struct_size = sizeof mark;
      mark.vital = mark.sub = "";
      mark.start_ns = shown->start_ns;
      mark.end_ns = shown->end_ns;
      mark.text = "marked";
      host.mark(host.context, &mark);
      return 0;
    };
    return made;
  }();
  return &filter;
}

TEST_F(FilterReplayTest, PointsAndMarksAreTheSameAsLive) {
  filters_ = {Draws<0, 10>()};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, 1);
  Look();
  const Replayed again = Again(*this, 50, 750);
  EXPECT_EQ(again.points, 700u);
  EXPECT_EQ(again.marks, 70u);
  EXPECT_EQ(again.new_points + again.missing_points + again.new_marks + again.missing_marks, 0u);
  EXPECT_THAT(std::string(Try(*this, 50, 750, &store_, 1'000).status().message()),
              ::testing::HasSubstr("draws says more than 0 MiB of node n1 up to"));
}

TEST_F(FilterReplayTest, PointsAndMarksThatLiveDidNotSayAndThoseThatLiveSaidAreCounted) {
  filters_ = {Draws<0, 10>()};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, 1);
  Look();
  filters_ = {Draws<5, 25>()};
  const Replayed again = Again(*this, 50, 750);
  EXPECT_EQ(again.new_points, 7u);
  EXPECT_EQ(again.missing_points, 7u);
  EXPECT_EQ(again.new_marks, 14u) << "each 25th, but those of each 50th are there";
  EXPECT_EQ(again.missing_marks, 56u);
}

TEST_F(FilterReplayTest, PointsOfEpochsThatLiveHasNotSeenAreNoDifference) {
  filters_ = {Draws<0, 10>()};
  Restart();
  for (uint64_t i = 0; i < 500; ++i) Arrive(i, 1);
  Look();
  for (uint64_t i = 500; i < 600; ++i) Arrive(i, 1);
  const Replayed again = Again(*this, 50, 600);
  EXPECT_EQ(again.points, 550u);
  EXPECT_EQ(again.new_points + again.missing_points, 0u);
}

// As a mark of what is over by then.
TEST_F(FilterReplayTest, WhatIsDrawnOfAnEpochWhenTheNextIsSeenIsTheSame) {
  static const telltale_filter filter = [] {
    telltale_filter made = *Draws<0, 10>();
    made.epoch = [](void* instance, const telltale_filter_epoch* shown) {
      if (shown->start_ns == kBegin) return 0;
      telltale_filter_epoch before = *shown;
      before.start_ns -= kEpoch;
      before.end_ns -= kEpoch;
      return Draws<0, 10>()->epoch(instance, &before);
    };
    return made;
  }();
  filters_ = {&filter};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, 1);
  Look();
  const Replayed again = Again(*this, 50, 751);
  EXPECT_EQ(again.points, 701u);
  EXPECT_EQ(again.marks, 71u);
  EXPECT_EQ(again.new_points + again.missing_points + again.new_marks + again.missing_marks, 0u);
}

TEST_F(FilterReplayTest, WhatIsToldBehindTheTimeAskedForIsTheSame) {
  filters_ = {Later<100, 102, 500>()};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, 1);
  Look();
  for (const uint64_t to : {101, 102, 103, 400, 501, 1'000}) {
    const Replayed again = Again(*this, 50, to);
    ASSERT_EQ(again.live.size(), 1u);
    EXPECT_EQ(Bytes(again.anomalies), Bytes(again.live)) << to;
    EXPECT_EQ(again.shown_ns, kBegin + std::max<uint64_t>(to, 501) * kEpoch) << "and no more";
  }
  EXPECT_TRUE(Again(*this, 50, 100).live.empty());
  EXPECT_EQ(Again(*this, 50, 100).shown_ns, kBegin + 100 * kEpoch);
}

// The version is the same: a sentence says as much without them.
TEST_F(FilterReplayTest, FactsThatTheCollectorOfThenDidNotKeepAreNoDifference) {
  filters_ = {Later<100, 102, 500>()};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, 1);
  Look();
  filters_ = {Later<100, 102, 500, 1>()};
  const Replayed again = Again(*this, 50, 750);
  ASSERT_EQ(again.live.size(), 1u);
  EXPECT_EQ(Bytes(again.anomalies), Bytes(again.live));
  EXPECT_EQ(again.shown_ns, kBegin + 750 * kEpoch) << "and no more is shown to find it";
}

TEST_F(FilterReplayTest, FactsAreTheSameAsLive) {
  filters_ = {Later<100, 102, 500, 1>()};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, 1);
  Look();
  const Replayed again = Again(*this, 50, 750);
  ASSERT_EQ(again.anomalies.size(), 1u);
  EXPECT_EQ(again.anomalies[0].facts_size(), 1);
  EXPECT_EQ(Bytes(again.anomalies), Bytes(again.live));
}

// A history in which what other nodes have cannot be read.
class OneNodesHistory : public storage::MemoryHistory {
 public:
  OneNodesHistory(const storage::MemoryHistory* whole, uint32_t node)
      : whole_(whole), node_(node) {}
  absl::StatusOr<std::string> Get(storage::Family family, std::string_view key) const override {
    return whole_->Get(family, key);
  }
  absl::Status Scan(storage::Family, std::string_view, std::string_view,
                    const storage::RowVisitor&) const override {
    return absl::UnimplementedError("scans go over damage");
  }
  absl::Status ScanOver(storage::Family family, std::string_view from, std::string_view to,
                        const storage::RowVisitor& visit,
                        const storage::DamageVisitor& damaged) const override {
    return whole_->Scan(family, from, to, [&](std::string_view key, std::string_view value) {
      if (storage::DecodeDerivedKey(key)->node == node_) return visit(key, value);
      damaged({.after = "", .before = std::string(key), .rows = 1, .why = "a damaged block"});
      return true;
    });
  }

 private:
  const storage::MemoryHistory* const whole_;
  const uint32_t node_;
};

TEST_F(FilterReplayTest, WhatOtherNodesHaveIsNotRead) {
  filters_ = {Later<100, 102, 500>()};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) {
    for (uint32_t node = 1; node <= 3; ++node) Arrive(i, 1, node);
  }
  Look();
  OneNodesHistory history(&history_, 1);
  storage::DerivedStore store(&history, &catalog_);
  const auto again = Try(*this, 50, 600, &store);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->live.size(), 1u);
  EXPECT_EQ(Bytes(again->anomalies), Bytes(again->live));
}

TEST_F(FilterReplayTest, MoreAnomaliesThanAreComparedAreNoComparison) {
  static const telltale_filter filter = [] {
    telltale_filter made = *Later<100, 102, 500>();
    made.name = "many";
    made.epoch = [](void* instance, const telltale_filter_epoch* shown) {
      const auto& host = *static_cast<telltale_filter_host*>(instance);
      if (shown->start_ns % storage::kHourNs != 0) return 0;
      for (int i = 0; i < 1'000; ++i) {
        const std::string subject = "process " + std::to_string(i);
        telltale_filter_anomaly anomaly = {};
        anomaly.struct_size = sizeof anomaly;
        anomaly.vital = "cpu";
        anomaly.sub = "";
        anomaly.subject = subject.c_str();
        anomaly.start_ns = shown->start_ns;
        anomaly.end_ns = shown->end_ns;
        host.anomaly(host.context, &anomaly);
      }
      return 0;
    };
    return made;
  }();
  filters_ = {&filter};
  Restart();
  constexpr uint64_t kHour = storage::kHourNs / kEpoch;
  for (uint64_t hour = 0; hour < 12; ++hour) {
    Arrive(hour * kHour, 1);
    Arrive(hour * kHour + 1, 1);
    Look();
  }
  EXPECT_EQ(Again(*this, 0, 9 * kHour + 2).live.size(), 10'000u);
  const auto more = Try(*this, 0, 12 * kHour, &store_);
  ASSERT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted) << more.status();
  EXPECT_THAT(more.status().message(),
              ::testing::HasSubstr("live has more than 10000 anomalies of many on node n1"));
}

TEST_F(FilterReplayTest, EpochsThatCannotBeOpenedAreCounted) {
  filters_ = {Later<100, 102, 500>()};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, 1);
  source_.AddUnreadable(1, 200);
  source_.AddUnreadable(1, 400);
  Look();
  EXPECT_EQ(Again(*this, 50, 300).unreadable, 1u);
  EXPECT_TRUE(Again(*this, 50, 300).late_ns.empty());
}

TEST_F(FilterReplayTest, WhatIsToldDaysLaterIsNotWaitedFor) {
  constexpr uint64_t kDay = 86'400 * kSecond / kEpoch;
  filters_ = {Later<100, 102, 2 * kDay + 100>()};
  Restart();
  for (uint64_t i = 0; i < 2 * kDay + 200; ++i) {
    Arrive(i, 1);
    if (i % 1'000 == 0) Look();
  }
  Look();
  const Replayed again = Again(*this, 50, 200);
  ASSERT_EQ(again.anomalies.size(), 1u);
  ASSERT_EQ(again.live.size(), 1u);
  EXPECT_TRUE(again.anomalies[0].open());
  EXPECT_FALSE(again.live[0].open());
  EXPECT_EQ(again.shown_ns, kBegin + (200 + kDay) * kEpoch);
  EXPECT_GT(again.live[0].end_s(), static_cast<double>(again.shown_ns / kSecond));
}

TEST_F(FilterReplayTest, WhatWentOnForDaysByThenIsKnown) {
  constexpr uint64_t kDay = 86'400 * kSecond / kEpoch;
  filters_ = {Later<100, 102, 3 * kDay>()};
  Restart();
  for (uint64_t i = 0; i < 3 * kDay + 200; ++i) {
    Arrive(i, 1);
    if (i % 1'000 == 0) Look();
  }
  Look();
  for (const uint64_t from : {2 * kDay, 3 * kDay - 10}) {
    const Replayed again = Again(*this, from, from + 100);
    ASSERT_EQ(again.live.size(), 1u) << from;
    EXPECT_EQ(Bytes(again.anomalies), Bytes(again.live)) << from;
  }
}

}  // namespace
}  // namespace telltale::filter
