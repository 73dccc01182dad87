// What is not there and what is known all the same: stacks that were not walked, seconds in which
// nothing happened.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::HasSubstr;

// The walk of a user stack may fail; where the sample was taken is known all the same.
TEST(StacksTest, WithoutAStackTheSampledAddressIsOneAndSaysSo) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.Name("app", 0x10, "price_basket");
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_CPU, {100, 0, 0});
  const uint32_t ip = maker.Frame("app", "/bin/app", 0x10) + 1;
  const uint32_t none = maker.Stack({}, {});
  for (const uint32_t stack : {0u, none}) {
    v1::FoldedSample* sample = maker.Sample(vital, "/bin/app", stack, 50, 50, 50, 0x1);
    sample->mutable_exemplar()->add_detail(ip);
  }
  source.AddEpoch(node, 1000, 10, maker.body());
  auto request = Asked<v1::StacksRequest>(1000, 1010);
  request.set_vital("cpu");
  const auto answer = MakeEngine(source, 1020).Stacks(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_GE(answer->stacks_size(), 1);
  for (const v1::StackWeight& stack : answer->stacks()) {
    ASSERT_EQ(stack.frames_size(), 1);
    EXPECT_EQ(stack.frames(0).name(), "price_basket");
    EXPECT_THAT(stack.end(), HasSubstr("only what was sampled"));
  }
}

TEST(StacksTest, WithoutAnAddressTheSystemCallIsThePlace) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {100});
  const v1::Schema schema = proto::BuiltinSchema();
  int place = -1;  // of the call's number in the label
  for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
    for (int i = 0; i < descriptor.label_size() && descriptor.id() == TELLTALE_SYSCALL; ++i) {
      if (descriptor.label(i).kind() == v1::FIELD_KIND_SYSCALL) place = i;
    }
  }
  ASSERT_GE(place, 0);
  v1::FoldedSample* sample = maker.Sample(vital, "/bin/app", 0, 100, 100, 100, 0);
  sample->clear_label();
  for (int i = 0; i < place; ++i) sample->add_label(0);
  sample->add_label(44 + 1);
  source.AddEpoch(node, 1000, 10, maker.body());
  auto top = Asked<v1::TopRequest>(1000, 1010);
  top.set_vital("syscall");
  top.set_by(v1::DIMENSION_SITE);
  const auto answer = MakeEngine(source, 1020).Top(top, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->tables(0).rows(0).name(), "syscall sendto");
  auto request = Asked<v1::StacksRequest>(1000, 1010);
  request.set_vital("syscall");
  const auto stacks = MakeEngine(source, 1020).Stacks(request, {});
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  ASSERT_EQ(stacks->stacks(0).frames_size(), 1);
  EXPECT_EQ(stacks->stacks(0).frames(0).name(), "syscall sendto");
}

// An epoch in which nothing happened keeps no seconds: they were zero, not unwatched.
TEST(SeriesTest, SecondsInWhichNothingHappenedAreZero) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_RECLAIM, {0, 0});
  source.AddEpoch(node, 1000, 10, maker.body());
  auto request = Asked<v1::SeriesRequest>(1000, 1010);
  request.add_vitals("reclaim");
  request.set_per_second(true);
  const auto answer = MakeEngine(source, 1020).Series(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->series_size(), 1);
  ASSERT_EQ(answer->series(0).rate_size(), 10);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(answer->series(0).rate(i), 0);
    EXPECT_EQ(answer->series(0).watched(i), 1);
  }
}

}  // namespace
}  // namespace telltale::query
