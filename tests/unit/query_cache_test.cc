// Kept answers: valid while nothing they rest on changed, gone when it did, bounded in bytes.

#include "collector/query/answer_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/ingest_stamps.h"
#include "storage/keys.h"
#include "tests/support/query_store.h"

namespace telltale::query {
namespace {

using storage::kHourNs;
using ::telltale::testing::QueryStore;

TEST(IngestStampsTest, TellGroupsAndHoursApart) {
  storage::IngestStamps stamps;
  stamps.Touch(3, 10 * kHourNs + 5);
  stamps.Touch(300, 11 * kHourNs);
  EXPECT_EQ(stamps.Highest({0}, 10 * kHourNs, 12 * kHourNs), 1u);
  EXPECT_EQ(stamps.Highest({1}, 10 * kHourNs, 11 * kHourNs), 0u);
  EXPECT_EQ(stamps.Highest({1}, 10 * kHourNs, 11 * kHourNs + 1), 2u);
  EXPECT_EQ(stamps.Highest({}, 0, 12 * kHourNs), 2u);
  stamps.TouchAll(5);
  EXPECT_EQ(stamps.Highest({0}, 0, 1), 3u);
}

TEST(IngestStampsTest, OldHoursThatWereFoldedStillChange) {
  storage::IngestStamps stamps;
  const uint64_t hours = storage::IngestStamps::kMaxHours + 10;
  for (uint64_t hour = 1; hour <= hours; ++hour) stamps.Touch(1, hour * kHourNs);
  const uint64_t folded = stamps.Highest({0}, 2 * kHourNs, 3 * kHourNs);
  EXPECT_GE(folded, 2u);
  stamps.Touch(1, 2 * kHourNs);
  EXPECT_EQ(stamps.Highest({0}, 2 * kHourNs, 3 * kHourNs), hours + 1);
  EXPECT_EQ(stamps.Highest({0}, hours * kHourNs, (hours + 1) * kHourNs), hours);
}

TEST(AnswerCacheTest, StaysWithinItsBytesAndDropsWhatWasNotUsed) {
  AnswerCache cache(16 * 1024);
  const auto same = [](const AnswerBasis&) { return uint64_t{0}; };
  AnswerBasis basis;
  basis.expires_ns = 100;
  cache.Keep("big", std::string(4096, 'b'), basis);  // more than an eighth
  EXPECT_EQ(cache.Find("big", 1, same), nullptr);
  for (int i = 0; i < 30; ++i) {
    cache.Keep("k" + std::to_string(i), std::string(1024, 'a'), basis);
    EXPECT_NE(cache.Find("k0", 1, same), nullptr) << i;
    EXPECT_LE(cache.figures().bytes, 16 * 1024u);
  }
  EXPECT_EQ(cache.Find("k1", 1, same), nullptr);
  EXPECT_GT(cache.figures().evictions, 10u);
  EXPECT_EQ(cache.Find("k0", 100, same), nullptr) << "expired";
}

class AnswerCacheStoreTest : public ::testing::Test {
 protected:
  AnswerCacheStoreTest() : store_(2) {
    store_.Put(0, 3600);
    store_.set_now(4 * 3600);
  }
  double Total(double from_s, double to_s) {
    auto request = store_.Asked<v1::TopRequest>(from_s, to_s);
    request.mutable_selection()->add_nodes(store_.name(0));
    request.set_vital("syscall");
    request.set_by(v1::DIMENSION_NODE);
    const auto answer = store_.engine().Top(request, {});
    return answer.ok() && answer->tables_size() > 0 ? answer->tables(0).total() : -1;
  }
  QueryStore store_;
};

TEST_F(AnswerCacheStoreTest, TheSameQuestionIsAnsweredOnceUntilALateEpochComes) {
  const double before = Total(0, 7200);
  EXPECT_EQ(store_.engine().CacheFigures().hits, 0u);
  EXPECT_DOUBLE_EQ(Total(0, 7200), before);
  EXPECT_EQ(store_.engine().CacheFigures().hits, 1u);
  EXPECT_GT(store_.engine().CacheFigures().bytes, 0u);
  Total(0, 3000);
  EXPECT_EQ(store_.engine().CacheFigures().hits, 1u) << "another question";
  store_.PutOne(0, 65);  // an hour late, in the second hour of the selection
  EXPECT_GT(Total(0, 7200), before);
  EXPECT_EQ(store_.engine().CacheFigures().hits, 1u);
  Total(0, 3000);
  EXPECT_EQ(store_.engine().CacheFigures().hits, 2u) << "the first hour did not change";
}

TEST_F(AnswerCacheStoreTest, WhoSendsAKeptAnswerOnGetsItsBytesWhileItIsValid) {
  const auto question = store_.Asked<v1::SeriesRequest>(0, 7200);
  EXPECT_EQ(store_.engine().Kept(question), nullptr);
  const auto answer = store_.engine().Series(question, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(store_.engine().CacheFigures().misses, 1u) << "one question";
  const auto kept = store_.engine().Kept(question);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(*kept, answer->SerializeAsString());
  EXPECT_EQ(store_.engine().CacheFigures().hits, 1u);
  EXPECT_EQ(store_.engine().Kept(store_.Asked<v1::SeriesRequest>(0, 3000)), nullptr);
  EXPECT_EQ(store_.engine().Kept(store_.Asked<v1::TopRequest>(0, 7200)), nullptr);
  store_.PutOne(0, 65);  // late
  EXPECT_EQ(store_.engine().Kept(question), nullptr);
}

TEST_F(AnswerCacheStoreTest, OfTheOpenHourAnAnswerIsKeptForSecondsWhateverComes) {
  store_.Put(4 * 3600 - 1800, 4 * 3600);
  store_.set_now(4 * 3600 + 70);
  const double before = Total(3 * 3600, 4 * 3600 + 60);
  store_.PutOne(0, 4 * 60 + 1);
  store_.set_now(4 * 3600 + 74);
  EXPECT_DOUBLE_EQ(Total(3 * 3600, 4 * 3600 + 60), before);
  store_.set_now(4 * 3600 + 76);
  EXPECT_GT(Total(3 * 3600, 4 * 3600 + 60), before);
}

TEST_F(AnswerCacheStoreTest, ADeclaredLossChangesWhatAnAnswerRestsOn) {
  Total(0, 3600);
  storage::LostRange lost;
  lost.first = lost.last = 70;
  storage::Incarnation incarnation;
  incarnation.fill(1);
  ASSERT_TRUE(store_.store().summaries().DeclareLost(1, incarnation, lost).ok());
  Total(0, 3600);
  EXPECT_EQ(store_.engine().CacheFigures().hits, 0u);
}

}  // namespace
}  // namespace telltale::query
