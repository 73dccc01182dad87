// Answers over a store with damaged rows: the rest is given, and how many could not be read is
// said.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/query_store.h"

namespace telltale::query {
namespace {

using ::telltale::testing::QueryStore;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr uint64_t kHour = 3600, kDay = 86400;
constexpr uint64_t kStart = QueryStore::kStart;

// Rows of a family that fit become unreadable.
void Damage(QueryStore& store, storage::Family family,
            const std::function<bool(std::string_view key)>& fits) {
  std::vector<storage::Row> junk;
  ASSERT_TRUE(store.store()
                  .history()
                  .Scan(family, "", "",
                        [&](std::string_view key, std::string_view) {
                          if (fits(key)) junk.push_back({family, std::string(key), "\x01junk", 0});
                          return true;
                        })
                  .ok());
  ASSERT_FALSE(junk.empty());
  ASSERT_TRUE(store.store().history().Append(junk).ok());
}

void DamageRaw(QueryStore& store, uint32_t node, uint64_t from_s, uint64_t to_s) {
  Damage(store, storage::Family::kRaw, [=](std::string_view bytes) {
    const auto key = storage::DecodeRawKey(bytes);
    return key->node == node && key->start_ns >= kStart + from_s * storage::kSecondNs &&
           key->start_ns < kStart + to_s * storage::kSecondNs;
  });
}

void DamageWindow(QueryStore& store, storage::Tier tier, uint32_t node, uint64_t start_s) {
  Damage(store, storage::Family::kRollup, [=](std::string_view bytes) {
    const auto key = storage::DecodeRollupKey(bytes);
    return key->tier == tier && key->node == node && key->vital == 0 &&
           key->window_start_ns == kStart + start_s * storage::kSecondNs;
  });
}

double SumOf(const v1::SeriesAnswer& answer) {
  double sum = 0;
  for (const v1::Series& series : answer.series()) {
    for (int i = 0; i < series.rate_size(); ++i) {
      sum += series.rate(i) * series.length_s(i) * series.watched(i);
    }
  }
  return sum;
}

TEST(QueryDamageTest, AFleetGraphIsWholeOverADamagedBlockAndSaysSo) {
  QueryStore store(2, {}, /*cache_bytes=*/0);
  store.Put(0, 6 * kHour);
  store.set_now(7 * kHour);
  store.RollUp();
  auto request = store.Asked<v1::SeriesRequest>(0, 6 * kHour, v1::TIER_5MIN);
  request.add_vitals("syscall");
  const auto before = store.engine().Series(request, {});
  ASSERT_TRUE(before.ok()) << before.status();
  Damage(store, storage::Family::kLine, [](std::string_view bytes) {
    const auto key = storage::DecodeLineKey(bytes);
    return key->tier == storage::Tier::k5Min && key->vital == 8 &&
           key->bucket_start_ns == kStart + kHour * storage::kSecondNs;
  });
  const auto after = store.engine().Series(request, {});
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_NEAR(SumOf(*after), SumOf(*before), 1e-9 * SumOf(*before));
  EXPECT_EQ(after->series(0).rate_size(), before->series(0).rate_size());
  EXPECT_THAT(after->coverage().notes(),
              Contains(HasSubstr("1 stored blocks of a graph unreadable")));
}

TEST(QueryDamageTest, WindowsThatCannotBeReadAreCountedAndFinerDataStandsInTheirPlace) {
  QueryStore store(1, {}, /*cache_bytes=*/0);
  store.Put(0, kDay);
  store.set_now(kDay + kHour);
  store.RollUp();
  auto request = store.Asked<v1::TopRequest>(0, kDay);
  request.set_vital("syscall");
  request.set_by(v1::DIMENSION_NODE);
  request.mutable_selection()->set_tier(v1::TIER_1H);
  const auto before = store.engine().Top(request, {});
  ASSERT_TRUE(before.ok()) << before.status();
  DamageWindow(store, storage::Tier::k1Hour, 1, 3 * kHour);
  DamageWindow(store, storage::Tier::k1Hour, 1, 4 * kHour);
  const auto hours = store.engine().Top(request, {});
  ASSERT_TRUE(hours.ok()) << hours.status();
  EXPECT_LT(hours->tables(0).total(), before->tables(0).total());
  EXPECT_EQ(hours->coverage().used(0).rows(), 22u);
  EXPECT_THAT(hours->coverage().notes(), Contains(HasSubstr("2 windows unreadable")));

  DamageWindow(store, storage::Tier::k1Day, 1, 0);
  request.mutable_selection()->set_tier(v1::TIER_AUTO);
  const auto all = store.engine().Top(request, {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_DOUBLE_EQ(all->tables(0).total(), before->tables(0).total());
}

TEST(QueryDamageTest, EpochsThatCannotBeReadAreCountedInEveryTier) {
  QueryStore store(1, {}, /*cache_bytes=*/0);
  store.Put(0, 2 * kHour);
  DamageRaw(store, 1, 600, 720);
  store.set_now(3 * kHour);
  store.RollUp();
  auto top = store.Asked<v1::TopRequest>(0, 2 * kHour, v1::TIER_RAW);
  top.set_vital("syscall");
  const auto raw = store.engine().Top(top, {});
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(raw->coverage().used(0).rows(), 118u);
  EXPECT_THAT(raw->coverage().notes(), Contains(HasSubstr("2 stored epochs could not be opened")));
  EXPECT_DOUBLE_EQ(raw->coverage().watched_s(), 2 * kHour - 120);
  EXPECT_DOUBLE_EQ(raw->coverage().unwatched_s(), 120);
  EXPECT_THAT(raw->coverage().notes(), Contains(HasSubstr("it could not be read")));

  auto series = store.Asked<v1::SeriesRequest>(0, 2 * kHour);
  series.add_vitals("syscall");
  const auto drawn = store.engine().Series(series, {});
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_EQ(drawn->coverage().used(0).rows(), 118u);
  EXPECT_THAT(drawn->coverage().notes(),
              Contains(HasSubstr("2 stored epochs could not be opened")));

  for (const v1::Tier tier : {v1::TIER_5MIN, v1::TIER_1H}) {
    for (auto* selection : {top.mutable_selection(), series.mutable_selection()}) {
      selection->set_tier(tier);
    }
    const auto rows = store.engine().Top(top, {});
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_THAT(rows->coverage().notes(), Contains(HasSubstr("1 windows lack a part")));
    const auto line = store.engine().Series(series, {});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_THAT(line->coverage().notes(), Contains(HasSubstr("1 windows lack a part")));
  }
}

}  // namespace
}  // namespace telltale::query
