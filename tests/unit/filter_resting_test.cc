// What is known of nodes between their epochs.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "collector/filter/resting_states.h"
#include "tests/unit/filter_world.h"

namespace telltale::filter {
namespace {

TEST(RestingStatesTest, GiveBackOnceWhatTheyWereGiven) {
  RestingStates resting;
  std::string mixed;
  for (uint32_t i = 0; i < 100'000; ++i) mixed += static_cast<char>(i * i % 251);
  const RestingStates::States states = {mixed, std::nullopt, std::string(), std::string("a\0b", 3)};
  EXPECT_TRUE(resting.Put(7, states));
  EXPECT_TRUE(resting.Put(300, {std::string("another node's")}));
  EXPECT_TRUE(resting.Has(7));
  EXPECT_FALSE(resting.Has(8));
  EXPECT_FALSE(resting.Has(1'000));
  EXPECT_EQ(resting.Take(7), states);
  EXPECT_FALSE(resting.Has(7));
  EXPECT_TRUE(resting.Take(7).empty());
  EXPECT_EQ(resting.Take(300), RestingStates::States{std::string("another node's")});
}

// A filter that counts how many of its instances are there, and what they were shown.
struct Counted {
  static inline int instances = 0;
  static inline std::vector<uint64_t> shown;  // epochs that the instance had seen before each

  static telltale_filter Filter(bool saves) {
    telltale_filter filter = *telltale_ewma_filter();
    filter.name = saves ? "saves" : "saves_not";
    filter.learning = nullptr;
    filter.create = [](const telltale_filter_host*, const telltale_filter_option*,
                       uint32_t) -> void* {
      ++instances;
      return new uint64_t(0);
    };
    filter.destroy = [](void* instance) {
      --instances;
      delete static_cast<uint64_t*>(instance);
    };
    filter.epoch = [](void* instance, const telltale_filter_epoch*) {
      shown.push_back((*static_cast<uint64_t*>(instance))++);
      return 0;
    };
    filter.save = nullptr;
    filter.load = nullptr;
    if (!saves) return filter;
    filter.save = [](void* instance, void* bytes, size_t capacity) {
      if (capacity >= sizeof(uint64_t)) std::memcpy(bytes, instance, sizeof(uint64_t));
      return sizeof(uint64_t);
    };
    filter.load = [](void* instance, const void* bytes, size_t size) {
      if (size != sizeof(uint64_t)) return 1;
      std::memcpy(instance, bytes, sizeof(uint64_t));
      return 0;
    };
    return filter;
  }
};

class RestingTest : public testing::Test, protected World {};

TEST_F(RestingTest, NothingOfANodeIsOpenBetweenItsEpochsAndAllIsKnown) {
  const telltale_filter saves = Counted::Filter(true);
  filters_ = {&saves};
  Restart();
  Counted::instances = 0;
  Counted::shown.clear();
  for (uint64_t i = 0; i < 500; ++i) {  // also over an hour's end
    for (uint32_t node = 1; node <= 3; ++node) Arrive(i, 1, node);
    Look();
    ASSERT_EQ(Counted::instances, 0) << i;
  }
  ASSERT_EQ(Counted::shown.size(), 1'500u);
  for (size_t i = 0; i < Counted::shown.size(); ++i) ASSERT_EQ(Counted::shown[i], i / 3);
  EXPECT_EQ(said_, "");
}

// A filter that in each epoch has no room for three labels.
struct Full {
  uint64_t epochs = 0, no_room = 0;

  static telltale_filter Filter(bool saves) {
    telltale_filter filter = *telltale_ewma_filter();
    filter.name = saves ? "full_saves" : "full";
    filter.create = [](const telltale_filter_host*, const telltale_filter_option*,
                       uint32_t) -> void* { return new Full; };
    filter.destroy = [](void* instance) { delete static_cast<Full*>(instance); };
    filter.epoch = [](void* instance, const telltale_filter_epoch*) {
      Full& full = *static_cast<Full*>(instance);
      ++full.epochs;
      full.no_room += 3;
      return 0;
    };
    filter.learning = [](const void* instance, telltale_filter_learning* learning) {
      learning->no_room = static_cast<const Full*>(instance)->no_room;
    };
    filter.save = nullptr;
    filter.load = nullptr;
    if (!saves) return filter;
    filter.save = [](void* instance, void* bytes, size_t capacity) {
      if (capacity >= sizeof(uint64_t)) std::memcpy(bytes, instance, sizeof(uint64_t));
      return sizeof(uint64_t);
    };
    filter.load = [](void* instance, const void* bytes, size_t) {
      std::memcpy(&static_cast<Full*>(instance)->epochs, bytes, sizeof(uint64_t));
      return 0;
    };
    return filter;
  }
};

TEST_F(RestingTest, WhatAFilterHadNoRoomForIsCountedWhetherItRestsOrNot) {
  for (const bool saves : {true, false}) {
    const telltale_filter full = Full::Filter(saves);
    filters_ = {&full};
    Restart();
    const uint64_t before = source_.Nodes().empty() ? 0 : source_.Nodes()[0].epochs;
    for (uint64_t i = before; i < before + 50; ++i) {
      for (uint32_t node = 1; node <= 3; ++node) Arrive(i, 1, node);
      Look();
    }
    EXPECT_EQ(runner_->Reports()[0].no_room, 3 * runner_->Reports()[0].shown) << full.name;
    runner_.reset();  // before the filter
  }
}

TEST_F(RestingTest, WhoSavesNothingStaysAsItIs) {
  const telltale_filter saves = Counted::Filter(true), keeps = Counted::Filter(false);
  filters_ = {&saves, &keeps};
  Restart();
  Counted::instances = 0;
  Counted::shown.clear();
  for (uint64_t i = 0; i < 20; ++i) {
    Arrive(i, 1);
    Look();
    ASSERT_EQ(Counted::instances, 1);
  }
  for (size_t i = 0; i < Counted::shown.size(); ++i) EXPECT_EQ(Counted::shown[i], i / 2);
  EXPECT_EQ(Counted::shown.size(), 40u);
  runner_.reset();
  EXPECT_EQ(Counted::instances, 0);
}

// What an hour began with stands in the store only; outputs within the hour leave it there.
TEST_F(RestingTest, OutputsWithinAnHourKeepTheStateItBeganWith) {
  for (uint64_t i = 0; i < 400; ++i) {
    Arrive(i, Quiet(i));
    Look();
  }
  const auto stored = [&] {
    const auto number =
        store_.FilterNumber(telltale_ewma_filter()->name, telltale_ewma_filter()->version);
    v1::FilterHour hour;
    EXPECT_TRUE(hour.ParseFromString(*store_.Get({*number, 1, kBegin + 360 * kEpoch})));
    return hour;
  };
  const std::string began_with = stored().state();
  ASSERT_FALSE(began_with.empty());
  for (uint64_t i = 400; i < 420; ++i) {
    Arrive(i, i == 410 ? 50 : Quiet(i));
    Look();
  }
  EXPECT_GT(stored().anomalies_size(), 0);
  EXPECT_EQ(stored().state(), began_with);
}

}  // namespace
}  // namespace telltale::filter
