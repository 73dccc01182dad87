// The document and the attacks that are carried out are one list.

#include <gtest/gtest.h>

#include "tests/integration/hostile_rig.h"

namespace telltale::testing {
namespace {

class ListIsComplete : public ::testing::Environment {
 public:
  void TearDown() override {
    // Only a run of all tests makes all attacks.
    if (::testing::GTEST_FLAG(filter) != "*") return;
    for (const auto& [attack, series] : HostileList()) {
      EXPECT_TRUE(AttacksMade().contains(attack)) << "listed, but nobody does it: " << attack;
    }
  }
};

const ::testing::Environment* const list_is_complete =
    ::testing::AddGlobalTestEnvironment(new ListIsComplete);

}  // namespace
}  // namespace telltale::testing
