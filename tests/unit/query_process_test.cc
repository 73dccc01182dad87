// What one process weighs over time: the same as its row in a table of the same time, by whatever
// tier, and never more certain than that is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/query_store.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::telltale::testing::QueryStore;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// x and y on one CPU of 10 s, in two epochs.
class ProcessSeriesTest : public ::testing::Test {
 protected:
  ProcessSeriesTest() {
    const uint32_t node = source_.AddNode("a");
    for (const uint64_t epoch : {0, 1}) {
      BodyMaker maker;
      maker.Vital(TELLTALE_CPU, {9 * kS, 0, 0});
      maker.Columns({ShareColumn(TELLTALE_CPU, 0)});
      maker.Process("/bin/x", 7, 0, {(1 + 2 * epoch) * kS});
      maker.Process("/bin/y", 8, 0, {4 * kS});
      maker.body().mutable_processes()->mutable_other()->add_values(epoch == 0 ? 0 : 2 * kS);
      source_.AddEpoch(node, 1000 + 10 * epoch, 10, maker.body());
    }
  }
  absl::StatusOr<v1::SeriesAnswer> Ask(const std::string& process) {
    auto request = Asked<v1::SeriesRequest>(1000, 1020);
    request.add_vitals("cpu");
    request.set_process(process);
    return MakeEngine(source_, 1030).Series(request, {});
  }

  FakeSource source_;
};

TEST_F(ProcessSeriesTest, IsItsAccountInEachEpoch) {
  const auto answer = Ask("7");
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->series_size(), 1);
  const v1::Series& line = answer->series(0);
  EXPECT_EQ(line.vital(), "cpu");
  EXPECT_EQ(answer->process(), "7");
  EXPECT_THAT(line.rate(), ElementsAre(0.1, 0.3));
  EXPECT_THAT(line.low(), ElementsAre(0.1, 0.3));
  EXPECT_THAT(line.high(), ElementsAre(0.1, 0.3));
  EXPECT_THAT(line.events(), IsEmpty());  // a process's are not counted
}

// A program may have been short-lived processes without a row, too.
TEST_F(ProcessSeriesTest, AProgramMayBeAmongThoseWithoutARow) {
  const auto answer = Ask("x");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->series(0).rate(), ElementsAre(0.1, 0.3));
  EXPECT_THAT(answer->series(0).high(), ElementsAre(0.1, 0.5));
}

TEST_F(ProcessSeriesTest, OneThatIsNotThereIsNamedWithTheNearest) {
  const auto answer = Ask("xx");
  EXPECT_TRUE(absl::IsNotFound(answer.status()));
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("series: no process \"xx\""));
}

TEST_F(ProcessSeriesTest, SecondsAreOfAllProcessesTogether) {
  auto request = Asked<v1::SeriesRequest>(1000, 1020);
  request.set_process("x");
  request.set_per_second(true);
  EXPECT_TRUE(absl::IsInvalidArgument(MakeEngine(source_, 1030).Series(request, {}).status()));
}

TEST(ProcessSeriesOfTiersTest, EachAgreesWithTheTable) {
  constexpr double kLength = 3 * 3600;
  QueryStore store(1);
  store.Put(0, static_cast<uint64_t>(kLength));
  store.set_now(6 * 3600);
  store.RollUp();
  auto top = store.Asked<v1::TopRequest>(0, kLength, v1::TIER_RAW);
  top.set_vital("syscall");
  top.set_by(v1::DIMENSION_EXE);
  const auto table = store.engine().Top(top, {});
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_GT(table->tables(0).rows_size(), 0);
  const v1::TopRow& row = table->tables(0).rows(0);
  ASSERT_GT(row.value(), 0);
  for (const v1::Tier tier : {v1::TIER_AUTO, v1::TIER_RAW, v1::TIER_5MIN, v1::TIER_1H}) {
    auto request = store.Asked<v1::SeriesRequest>(0, kLength, tier);
    request.add_vitals("syscall");
    request.set_process(row.exe());
    const auto answer = store.engine().Series(request, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->series_size(), 1) << v1::Tier_Name(tier);
    const v1::Series& line = answer->series(0);
    EXPECT_EQ(line.rate_size(), tier == v1::TIER_1H ? 3 : tier == v1::TIER_5MIN ? 36 : 180);
    double value = 0, low = 0, high = 0;
    for (int i = 0; i < line.rate_size(); ++i) {
      EXPECT_LE(line.low(i), line.rate(i));
      EXPECT_LE(line.rate(i), line.high(i));
      const double watched_s = line.length_s(i) * line.watched(i);
      value += line.rate(i) * watched_s;
      low += line.low(i) * watched_s;
      high += line.high(i) * watched_s;
    }
    constexpr double kRounding = 1e-9;
    EXPECT_LE(low, row.value() * (1 + kRounding)) << v1::Tier_Name(tier);
    EXPECT_GE(high, row.value() * (1 - kRounding)) << v1::Tier_Name(tier);
    if (answer->coverage().tier() == v1::TIER_RAW) {
      EXPECT_NEAR(value, row.value(), row.value() * kRounding);
    }
  }
}

}  // namespace
}  // namespace telltale::query
