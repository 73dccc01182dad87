// Questions that make no sense: each is refused by name, with what would make sense.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/query/process_filter.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::HasSubstr;

v1::TopRequest TopOf(const std::string& vital, v1::Dimension by, uint32_t limit = 0) {
  auto request = Asked<v1::TopRequest>(1000, 1010);
  request.set_vital(vital);
  request.set_by(by);
  request.set_limit(limit);
  return request;
}

TEST(ErrorsTest, UnknownNamesComeWithTheNearest) {
  FakeSource source;
  source.AddNode("db-1");
  source.AddNode("web-1");
  const Engine engine = MakeEngine(source, 6000);
  auto request = Asked<v1::TopRequest>(5000, 5060);
  request.mutable_selection()->add_nodes("db1");
  EXPECT_EQ(engine.Top(request, {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(engine.Top(request, {}).status().message()), HasSubstr("nearest: db-1"));
  request.mutable_selection()->clear_nodes();
  request.set_vital("blokcing");
  EXPECT_THAT(std::string(engine.Top(request, {}).status().message()),
              HasSubstr("nearest: blocking"));
  request.set_vital("blocking/dsk");
  EXPECT_THAT(std::string(engine.Top(request, {}).status().message()), HasSubstr("nearest: disk"));
}

TEST(ErrorsTest, AProcessThatNobodyIsIsAnErrorWithTheNearestNames) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {100, 0});
  maker.Columns({ShareColumn(TELLTALE_SYSCALL, 0)});
  maker.Process("/usr/sbin/nginx", 7, 0, {60});
  maker.Process("/usr/bin/idler", 8, 0, {0});
  maker.Sample(vital, "/usr/sbin/nginx", 0, 1, 1, 60, 1);
  source.AddEpoch(node, 1000, 10, maker.body());
  const Engine engine = MakeEngine(source, 1020);
  auto top = TopOf("syscall", v1::DIMENSION_UNSPECIFIED);
  auto stacks = Asked<v1::StacksRequest>(1000, 1010);
  stacks.set_vital("syscall");
  auto samples = Asked<v1::SamplesRequest>(1000, 1010);
  for (const char* name : {"ngnix", "99"}) {
    top.set_process(name);
    stacks.set_process(name);
    samples.set_process(name);
    for (const absl::Status& status :
         {engine.Top(top, {}).status(), engine.Stacks(stacks, {}).status(),
          engine.Samples(samples, {}).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("nginx"));
    }
  }
  for (const char* name : {"nginx", "7", "idler"}) {  // the last is there and did nothing
    top.set_process(name);
    stacks.set_process(name);
    samples.set_process(name);
    EXPECT_TRUE(engine.Top(top, {}).ok()) << name;
    EXPECT_EQ(engine.Top(top, {})->process(), name);
    EXPECT_TRUE(engine.Stacks(stacks, {}).ok()) << name;
    EXPECT_TRUE(engine.Samples(samples, {}).ok()) << name;
  }
  top = Asked<v1::TopRequest>(2000, 2010);  // no data is not a wrong name
  top.set_process("ngnix");
  EXPECT_TRUE(engine.Top(top, {}).ok());
}

TEST(ErrorsTest, AProcessUnlikeAnyOfManyIsAnsweredWithWhereTheyAreListed) {
  ProcessFilter filter("nosuch");
  for (char first = 'a'; first <= 'z'; ++first) {
    filter.Matches(1, "/bin/" + std::string(12, first), "comm");
  }
  const std::string message(filter.Found("top").message());
  EXPECT_THAT(message, HasSubstr("none is spelt like it, telltale top shows which there are"));
}

TEST(ErrorsTest, ABacklogNobodyKeepsNamesTheVitalsThatDo) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {1, 0, 0});
  maker.Vital(TELLTALE_DISK_IO, {1})->add_backlog(3);
  source.AddEpoch(node, 1000, 10, maker.body());
  auto request = Asked<v1::SeriesRequest>(1000, 1010);
  request.set_backlog(true);
  request.add_vitals("cpu");
  const absl::Status status = MakeEngine(source, 1020).Series(request, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cpu keeps no backlog; those that do: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("disk_io"));
  request.clear_vitals();
  const auto answer = MakeEngine(source, 1020).Series(request, {});
  ASSERT_EQ(answer->series_size(), 1);
  EXPECT_EQ(answer->series(0).vital(), "disk_io");
}

TEST(ErrorsTest, ASeverityBelowNothingIsRefused) {
  FakeSource source;
  source.AddNode("a");
  auto request = Asked<v1::AnomaliesRequest>(1000, 1010);
  request.set_min_severity(-1);
  EXPECT_EQ(MakeEngine(source, 1020).Anomalies(request, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ErrorsTest, ATierNobodyKnowsIsRefused) {
  FakeSource source;
  source.AddNode("a");
  auto request = Asked<v1::TopRequest>(1000, 1010);
  request.mutable_selection()->set_tier(static_cast<v1::Tier>(9));
  EXPECT_EQ(MakeEngine(source, 1020).Top(request, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ErrorsTest, AVitalThatIsNamedAThousandTimesIsOneLine) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {1, 0, 0});
  source.AddEpoch(node, 1000, 10, maker.body());
  auto request = Asked<v1::SeriesRequest>(1000, 1010);
  for (int i = 0; i < 1000; ++i) request.add_vitals("cpu");
  const auto answer = MakeEngine(source, 1020).Series(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->series_size(), 1);
}

TEST(ErrorsTest, MorePointsThanFitInMemoryAreRefusedBeforeTheyAreHeld) {
  constexpr uint64_t kEpochs = 11'000, kLength = 120;
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  for (const uint32_t id : {TELLTALE_CPU, TELLTALE_SYSCALL}) {
    v1::Vital* vital = maker.Vital(id, {kLength});
    for (uint64_t i = 0; i < kLength; ++i) vital->mutable_subs(0)->add_second_weight(1);
  }
  for (uint64_t i = 0; i < kEpochs; ++i) {
    source.AddEpoch(node, 1000 + i * kLength, kLength, maker.body());
  }
  auto request = Asked<v1::SeriesRequest>(1000, 1000 + kEpochs * kLength);
  request.set_per_second(true);
  request.add_vitals("cpu");
  const Engine engine = MakeEngine(source, 1000 + kEpochs * kLength);
  EXPECT_TRUE(engine.Series(request, {}).ok());
  request.add_vitals("syscall");
  const absl::Status status = engine.Series(request, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("points"));
}

TEST(ErrorsTest, ListsLongerThanAnybodyNeedsAreRefused) {
  FakeSource source;
  source.AddNode("a");
  auto top = Asked<v1::TopRequest>(1000, 1010);
  for (int i = 0; i < 65; ++i) top.mutable_selection()->add_label_matches("env=prod");
  EXPECT_EQ(MakeEngine(source, 1020).Top(top, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  auto events = Asked<v1::EventsRequest>(1000, 1010);
  for (int i = 0; i < 65; ++i) events.add_types(v1::EVENT_TYPE_EXEC);
  EXPECT_EQ(MakeEngine(source, 1020).Events(events, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ErrorsTest, AnAskerWhoWentAwayEndsTheScan) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.AddEpoch(node, 1000, 10, BodyMaker().body());
  const auto answer =
      MakeEngine(source, 1020).Top(TopOf("cpu", v1::DIMENSION_EXE), [] { return true; });
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace telltale::query
