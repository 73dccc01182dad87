// What is known to go on: over days, restarts, silence, and filters that begin anew.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/filter/filter_runner.h"
#include "tests/unit/filter_world.h"

namespace telltale::filter {
namespace {

// Something that begins with epoch 5 and ends with epoch 25,000, days later; on n3 after eight
// days.
constexpr uint64_t kStuckFrom = kBegin + 5 * kEpoch, kStuckTo = kBegin + 25'000 * kEpoch;
constexpr uint64_t kLongTo = kBegin + 70'000 * kEpoch;
const telltale_filter& StuckFilter() {
  static const telltale_filter filter = [] {
    telltale_filter made = {};
    made.struct_size = sizeof made;
    made.abi = TELLTALE_FILTER_ABI;
    made.name = "stuck";
    made.version = 1;
    made.create = [](const telltale_filter_host* host, const telltale_filter_option*,
                     uint32_t) -> void* { return new telltale_filter_host(*host); };
    made.destroy = [](void* instance) { delete static_cast<telltale_filter_host*>(instance); };
    made.save = [](void*, void*, size_t) -> size_t { return 0; };
    made.load = [](void*, const void*, size_t) { return 0; };
    made.epoch = [](void* instance, const telltale_filter_epoch* epoch) {
      const auto& host = *static_cast<telltale_filter_host*>(instance);
      if (epoch->start_ns == kStuckFrom) {
        telltale_filter_mark mark = {};
        mark.struct_size = sizeof mark;
        mark.vital = mark.sub = "";
        mark.start_ns = mark.end_ns = epoch->start_ns;
        for (const char* text : {"deploy: app", "deploy: other", "deploy: app"}) {
          mark.text = text;
          host.mark(host.context, &mark);
        }
      }
      const uint64_t to = std::string_view(host.node) == "n3" ? kLongTo : kStuckTo;
      if (epoch->start_ns != kStuckFrom && epoch->start_ns != to) return 0;
      telltale_filter_anomaly anomaly = {};
      anomaly.struct_size = sizeof anomaly;
      anomaly.vital = "blocking";
      anomaly.sub = "disk";
      anomaly.start_ns = kStuckFrom;
      anomaly.end_ns = epoch->end_ns;
      anomaly.open = epoch->start_ns == kStuckFrom ? 1 : 0;
      anomaly.severity = 9;
      anomaly.text = "stuck";
      const telltale_filter_fact facts[] = {
          {.struct_size = sizeof facts[0], .name = "waits", .value = 3, .unit = "1"},
          {.struct_size = sizeof facts[0], .name = "holder", .text = "writer (pid 90)"}};
      anomaly.facts = facts;
      anomaly.fact_count = anomaly.open == 1 ? 2 : 0;
      host.anomaly(host.context, &anomaly);
      return 0;
    };
    return made;
  }();
  return filter;
}

class StuckWorld : public World {
 public:
  StuckWorld() {
    filters_ = {&StuckFilter()};
    Restart();
  }
  bool IsStuck(const std::string& node = "n1") const {
    return runner_->IsOpen("stuck", {node},
                           [](const OpenAnomaly& one) { return one.sub == "disk"; });
  }
};

class FilterOpenTest : public ::testing::Test, protected StuckWorld {};

TEST_F(FilterOpenTest, WhatGoesOnForDaysIsListedAndKnownAlsoAfterARestart) {
  AnomalyQuery last_hour;
  for (uint64_t i = 0; i < 24'000; ++i) {
    Arrive(i, 1);
    if (i % 4'000 != 3'999) continue;
    Look();
    if (i == 11'999) Restart();
  }
  last_hour.from_ns = now_ - 3600 * kSecond;
  ASSERT_EQ(List(last_hour).size(), 1u);  // began 66 hours ago
  EXPECT_TRUE(List(last_hour)[0].open());
  EXPECT_TRUE(IsStuck());
  Restart();
  EXPECT_FALSE(IsStuck());  // until it has looked
  Look();
  EXPECT_TRUE(IsStuck());
  EXPECT_FALSE(runner_->IsOpen("ewma", {"n1"}, [](const OpenAnomaly&) { return true; }));
  for (uint64_t i = 24'000; i < 26'000; ++i) Arrive(i, 1);
  Look();
  EXPECT_FALSE(IsStuck());
  last_hour.from_ns = now_ - 3600 * kSecond;
  EXPECT_TRUE(List(last_hour).empty());
  last_hour.from_ns = now_ - 4 * 3600 * kSecond;
  ASSERT_EQ(List(last_hour).size(), 1u);
  const v1::Anomaly over = List(last_hour)[0];
  EXPECT_FALSE(over.open());
  ASSERT_EQ(over.facts_size(), 2) << "of which the end said nothing";
  EXPECT_EQ(over.facts(0).name(), "waits");
  EXPECT_EQ(over.facts(0).value(), 3);
  EXPECT_EQ(over.facts(0).unit(), "1");
  EXPECT_EQ(over.facts(1).text(), "writer (pid 90)");
}

// Something that begins with epoch 5, of which more is told with epoch 40, with each from 60 to 70,
// and with 90.
const telltale_filter& GrowingFilter() {
  static const telltale_filter filter = [] {
    telltale_filter made = StuckFilter();
    made.name = "growing";
    made.epoch = [](void* instance, const telltale_filter_epoch* epoch) {
      const auto& host = *static_cast<telltale_filter_host*>(instance);
      const uint64_t number = (epoch->start_ns - kBegin) / kEpoch;
      const bool in_each = number >= 60 && number <= 70;
      if (number != 5 && number != 40 && number != 90 && !in_each) return 0;
      telltale_filter_anomaly anomaly = {};
      anomaly.struct_size = sizeof anomaly;
      anomaly.vital = "blocking";
      anomaly.sub = "disk";
      anomaly.start_ns = kStuckFrom;
      anomaly.end_ns = epoch->end_ns;
      anomaly.open = 1;
      anomaly.text = "grows";
      host.anomaly(host.context, &anomaly);
      return 0;
    };
    return made;
  }();
  return filter;
}

TEST_F(FilterOpenTest, ThatMoreIsToldOfWhatGoesOnIsNewsOnceAlsoAfterARestart) {
  filters_ = {&GrowingFilter()};
  Restart();
  const auto news = [&] {
    uint64_t news_ns = UINT64_MAX;
    EXPECT_TRUE(runner_->IsOpen("growing", {"n1"}, [&](const OpenAnomaly& one) {
      news_ns = one.news_ns;
      return true;
    }));
    return news_ns;
  };
  uint64_t epoch = 0;
  const auto arrive = [&](uint64_t to) {
    for (; epoch <= to; ++epoch) {
      Arrive(epoch, 1);
      Look();
    }
  };
  const auto end_of = [](uint64_t number) { return kBegin + (number + 1) * kEpoch; };
  arrive(39);
  EXPECT_EQ(news(), 0u);
  arrive(50);
  EXPECT_EQ(news(), end_of(40));
  arrive(75);
  EXPECT_EQ(news(), end_of(60)) << "what is said in each epoch is news when it begins";
  Restart();
  Look();
  EXPECT_EQ(news(), end_of(60)) << "told again by the repetition only";
  arrive(95);
  EXPECT_EQ(news(), end_of(90));
  EXPECT_EQ(log_->NowCursor(), "1") << "and who follows anomalies is told once";
}

// It begins anew, and knows of nothing that it is to end.
TEST_F(FilterOpenTest, WhatAFilterHadOpenThatSavesNothingGoesOnNoLongerAfterARestart) {
  static const telltale_filter forgetful = [] {
    telltale_filter made = StuckFilter();
    made.save = nullptr;
    made.load = nullptr;
    return made;
  }();
  filters_ = {&forgetful};
  Restart();
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, 1);
  Look();
  ASSERT_TRUE(IsStuck());
  ASSERT_TRUE(List()[0].open());
  Restart();
  Look();
  EXPECT_FALSE(IsStuck());
  EXPECT_FALSE(List()[0].open());
}

// Nor what began in the hour that is running, though nothing else of it changes.
TEST_F(FilterOpenTest, WhatItHadOpenInTheRunningHourGoesOnNoLongerEither) {
  static bool speaks = true;
  static const telltale_filter forgetful = [] {
    telltale_filter made = StuckFilter();
    made.save = nullptr;
    made.load = nullptr;
    made.epoch = [](void* instance, const telltale_filter_epoch* epoch) {
      return speaks ? StuckFilter().epoch(instance, epoch) : 0;
    };
    return made;
  }();
  filters_ = {&forgetful};
  Restart();
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, 1);
  Look();
  ASSERT_TRUE(List()[0].open());
  speaks = false;
  Restart();
  Look();
  speaks = true;
  EXPECT_FALSE(List()[0].open());
}

TEST_F(FilterOpenTest, AMarkIsHandedOnOnceAlsoAfterARestart) {
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, 1);
  Look();
  Restart();
  Look();
  EXPECT_THAT(marks_, ::testing::ElementsAre("stuck n1 deploy: app", "stuck n1 deploy: other"));
}

TEST_F(FilterOpenTest, WhatWentOnForMoreThanAWeekIsKnownToEnd) {
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, 1, 3);
  Look();
  ASSERT_TRUE(IsStuck("n3"));
  for (uint64_t i = 69'900; i < 70'000; ++i) Arrive(i, 1, 3);
  Look();
  EXPECT_TRUE(IsStuck("n3"));
  for (uint64_t i = 70'000; i < 70'100; ++i) Arrive(i, 1, 3);
  Look();
  EXPECT_FALSE(IsStuck("n3"));
}

TEST_F(FilterOpenTest, OfSeveralNodesOrOfAnyItIsEnoughThatItGoesOnOnOne) {
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, 1, 2);
  for (uint64_t i = 50; i < 100; ++i) Arrive(i, 1, 4);  // behind what n2 is stuck in
  Look();
  const auto is_stuck = [this](const NodeNames& nodes) {
    return runner_->IsOpen("stuck", nodes,
                           [](const OpenAnomaly& one) { return one.sub == "disk"; });
  };
  EXPECT_TRUE(is_stuck({"n1", "n2", "n4"}));
  EXPECT_FALSE(is_stuck({"n1", "n4"}));
  EXPECT_TRUE(is_stuck({}));
  for (uint64_t i = 25'000; i < 25'020; ++i) Arrive(i, 1, 2);
  Look();
  EXPECT_FALSE(is_stuck({}));
}

TEST_F(FilterOpenTest, WhatIsOpenOnANodeThatIsGoneIsNotKnownToGoOn) {
  for (uint64_t i = 0; i < 100; ++i) {
    Arrive(i, 1, 1);
    Arrive(i, 1, 2);
  }
  Look();
  ASSERT_TRUE(IsStuck());
  for (uint64_t i = 100; i < 160; ++i) {
    Arrive(i, 1, 2);
    Look();
  }
  EXPECT_TRUE(IsStuck()) << "ten minutes may be the network";
  for (uint64_t i = 160; i < 460; ++i) {
    Arrive(i, 1, 2);
    Look();
  }
  EXPECT_FALSE(IsStuck()) << "nothing came for an hour";
  EXPECT_TRUE(IsStuck("n2")) << "its epochs go on";
  Arrive(460, 1, 1);
  Look();
  EXPECT_TRUE(IsStuck()) << "the node is back, and the filter did not say that it ended";
}

TEST_F(FilterOpenTest, TheCollectorsOwnAbsenceAndWhatNodesKeptMeanwhileEndNothing) {
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, 1);
  Look();
  now_ += 3 * 3600 * kSecond;  // the machine slept
  Look();
  EXPECT_TRUE(IsStuck());
  now_ += 3 * 3600 * kSecond;  // it was off
  Restart();
  Look();
  EXPECT_TRUE(IsStuck());
  for (uint64_t i = 100; i < 160; ++i) {  // one of hours ago, each minute
    now_ += 60 * kSecond;
    Arrive(i, 1);
    Look();
    ASSERT_TRUE(IsStuck()) << i;
  }
}

TEST_F(FilterOpenTest, WhatAFilterHeldOpenWhenItGaveUpIsNotKnownToGoOn) {
  static telltale_filter quitter = StuckFilter();
  quitter.epoch = [](void* instance, const telltale_filter_epoch* epoch) {
    return epoch->start_ns < kBegin + 50 * kEpoch ? StuckFilter().epoch(instance, epoch) : 42;
  };
  filters_ = {&quitter};
  Restart();
  for (uint64_t i = 0; i < 50; ++i) Arrive(i, 1);
  Look();
  EXPECT_TRUE(IsStuck());
  Arrive(50, 1);
  Look();
  EXPECT_FALSE(IsStuck());
}

// Begins three with each epoch and ends none.
const telltale_filter& EndlessFilter() {
  static const telltale_filter filter = [] {
    telltale_filter made = StuckFilter();
    made.name = "endless";
    made.epoch = [](void* instance, const telltale_filter_epoch* epoch) {
      const auto& host = *static_cast<telltale_filter_host*>(instance);
      for (const char* sub : {"disk", "pipe", "socket"}) {
        telltale_filter_anomaly anomaly = {};
        anomaly.struct_size = sizeof anomaly;
        anomaly.vital = "blocking";
        anomaly.sub = sub;
        anomaly.start_ns = epoch->start_ns;
        anomaly.end_ns = epoch->end_ns;
        anomaly.open = 1;
        host.anomaly(host.context, &anomaly);
      }
      return 0;
    };
    return made;
  }();
  return filter;
}

TEST_F(FilterOpenTest, OfAFilterThatNeverEndsAnythingTheLatestAreKnown) {
  filters_ = {&EndlessFilter()};
  Restart();
  for (uint64_t i = 0; i < 700; ++i) Arrive(i, 1);
  Look();
  const auto all = runner_->AllOpen();
  ASSERT_EQ(all.count("n1"), 1u);
  EXPECT_EQ(all.at("n1").size(), 1'024u);
  for (const OpenAnomaly& open : all.at("n1")) EXPECT_GE(open.start_ns, kBegin + 340 * kEpoch);
}

// As StuckFilter, with a state.
const telltale_filter& SavingFilter() {
  static const telltale_filter filter = [] {
    telltale_filter made = StuckFilter();
    made.save = [](void*, void* bytes, size_t capacity) -> size_t {
      if (capacity > 0) *static_cast<char*>(bytes) = 'x';
      return 1;
    };
    return made;
  }();
  return filter;
}

// Does not understand that state, and finds nothing; a mark with each epoch has its hour stored.
const telltale_filter& RefusingFilter() {
  static const telltale_filter filter = [] {
    telltale_filter made = SavingFilter();
    made.load = [](void*, const void*, size_t) { return 1; };
    made.epoch = [](void* instance, const telltale_filter_epoch* epoch) {
      const auto& host = *static_cast<telltale_filter_host*>(instance);
      telltale_filter_mark mark = {};
      mark.struct_size = sizeof mark;
      mark.vital = mark.sub = "";
      mark.start_ns = mark.end_ns = epoch->start_ns;
      host.mark(host.context, &mark);
      return 0;
    };
    return made;
  }();
  return filter;
}

TEST(FilterStateTest, WhatWasOpenBeforeARefusedStateIsOpenNoMore) {
  // Restarted in the hour in which it began, and in the next one.
  for (const uint64_t epochs : {100U, 400U}) {
    SCOPED_TRACE(epochs);
    StuckWorld world;
    world.filters_ = {&SavingFilter()};
    world.Restart();
    for (uint64_t i = 0; i < epochs; ++i) world.Arrive(i, 1);
    world.Look();
    ASSERT_TRUE(world.IsStuck());
    world.filters_ = {&RefusingFilter()};
    world.Arrive(epochs, 1);
    world.Restart();
    world.Look();
    EXPECT_THAT(world.said_, ::testing::HasSubstr("state of node n1 is not understood"));
    EXPECT_FALSE(world.IsStuck());
    world.Arrive(epochs + 1, 1);
    world.Restart();
    world.Look();
    EXPECT_FALSE(world.IsStuck()) << "nor does what is stored of the hour bring it back";
    for (uint64_t i = epochs + 2; i < 800; ++i) world.Arrive(i, 1);
    world.Look();
    world.filters_ = {&SavingFilter()};
    world.Restart();
    world.Look();
    EXPECT_FALSE(world.IsStuck()) << "nor do later hours carry it on";
  }
}

}  // namespace
}  // namespace telltale::filter
