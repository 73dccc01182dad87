// Whose turn it is at the door, and who is turned out when it is full.
#include "collector/waiting_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace telltale::collector {
namespace {

using ::testing::ElementsAre;

constexpr size_t kCrowd = WaitingRoom::kCrowd;
constexpr size_t kPlaces = kCrowd + 4, kForCrowds = 6;
constexpr std::optional<int> kNobody;

class WaitingRoomTest : public ::testing::Test {
 protected:
  // Turned out for it.
  std::optional<int> Enter(const std::string& address, int connection) {
    return room_.Enter(address, connection, now_);
  }
  // 0: nobody's.
  int Next(const std::string& not_of = "") {
    const auto turn = room_.Next([&](const std::string& address) { return address != not_of; });
    return turn.has_value() ? turn->connection : 0;
  }
  std::vector<int> All() {
    std::vector<int> all;
    while (const int next = Next()) all.push_back(next);
    return all;
  }

  WaitingRoom room_{kPlaces, kForCrowds};
  WaitingRoom::Time now_{std::chrono::hours(1)};
};

TEST_F(WaitingRoomTest, TurnsGoRoundAmongAddresses) {
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(Enter("10.0.0.1", i), kNobody);
  EXPECT_EQ(Enter("10.0.0.2", 21), kNobody);
  EXPECT_EQ(Enter("10.0.0.3", 31), kNobody);
  EXPECT_EQ(room_.size(), 6u);
  EXPECT_EQ(room_.lines(), 3u);
  EXPECT_EQ(Next(), 4) << "the last to come of its line";
  EXPECT_EQ(Enter("10.0.0.2", 22), kNobody);
  EXPECT_THAT(All(), ElementsAre(22, 31, 3, 21, 2, 1));
  EXPECT_EQ(room_.size(), 0u);
  EXPECT_EQ(Next(), 0);
}

TEST_F(WaitingRoomTest, WhoMayNotLosesNoTurn) {
  Enter("10.0.0.1", 1);
  Enter("10.0.0.2", 2);
  EXPECT_EQ(Next("10.0.0.1"), 2);
  EXPECT_EQ(Next("10.0.0.1"), 0);
  EXPECT_EQ(Next(), 1);
}

TEST_F(WaitingRoomTest, WhoWaitedTooLongIsTurnedOut) {
  Enter("10.0.0.1", 1);
  Enter("10.0.0.2", 2);
  now_ += std::chrono::seconds(1);
  Enter("10.0.0.1", 3);
  EXPECT_THAT(room_.TurnOutThoseSince(now_ - std::chrono::seconds(1)), ElementsAre());
  EXPECT_THAT(room_.TurnOutThoseSince(now_), ElementsAre(1, 2));
  EXPECT_EQ(room_.size(), 1u);
  EXPECT_EQ(room_.lines(), 1u);
  EXPECT_EQ(Next(), 3);
  EXPECT_EQ(Next(), 0);
}

TEST_F(WaitingRoomTest, OneNetworkOfIpv6IsOneAddress) {
  for (int i = 1; i <= 3; ++i) Enter("2001:db8:0:1::" + std::to_string(i), i);
  Enter("2001:db8:0:2::1", 21);
  EXPECT_THAT(All(), ElementsAre(3, 21, 2, 1));
}

TEST_F(WaitingRoomTest, WhenManyAddressesFillItTheRestWaitsOutside) {
  for (size_t i = 0; i < kPlaces; ++i) {
    ASSERT_TRUE(room_.HasRoom());
    EXPECT_EQ(Enter("10.0.0." + std::to_string(i), static_cast<int>(i) + 1), kNobody);
  }
  EXPECT_FALSE(room_.HasRoom());
  EXPECT_NE(Next(), 0);
  EXPECT_TRUE(room_.HasRoom());
}

// A flood that stood outside would hide who stands behind it.
TEST_F(WaitingRoomTest, ACrowdNeverShutsTheDoor) {
  for (int i = 1; i <= 1'000; ++i) {
    ASSERT_TRUE(room_.HasRoom()) << i;
    Enter("10.0.0.1", i);
  }
  EXPECT_EQ(room_.size(), kPlaces + kForCrowds);
  ASSERT_TRUE(room_.HasRoom());
  Enter("10.0.0.2", 2'000);
  EXPECT_EQ(Next(), 1'000);
  EXPECT_EQ(Next(), 2'000);
}

TEST_F(WaitingRoomTest, WhoStandsLongestInACrowdMakesRoom) {
  EXPECT_EQ(Enter("10.0.0.1", 1), kNobody);
  for (size_t i = 1; i < kPlaces + kForCrowds; ++i) {
    EXPECT_EQ(Enter("10.0.0.2", 100 + static_cast<int>(i)), kNobody);
  }
  EXPECT_EQ(Enter("10.0.0.2", 200), 101) << "one more of the crowd";
  EXPECT_EQ(Enter("10.0.0.3", 31), 102) << "and one of another address";
  EXPECT_EQ(Next(), 1);
  EXPECT_EQ(Next(), 200);
  EXPECT_EQ(Next(), 31);
}

}  // namespace
}  // namespace telltale::collector
