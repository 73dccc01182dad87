// What is said of the stacks that the budget leaves.

#include "agent/governor/parts.h"
#include "agent/sensor/budget_keeper.h"
#include "gtest/gtest.h"

namespace telltale::agent {
namespace {

TEST(StacksLeftTest, EachLevelThatTakesSomethingSaysWhat) {
  EXPECT_EQ(StacksLeft(0), "");
  EXPECT_EQ(StacksLeft(kUnwindShort), "at most 4 KB of a user stack");
  EXPECT_EQ(StacksLeft(kUnwindNone), "without user stacks");
}

}  // namespace
}  // namespace telltale::agent
