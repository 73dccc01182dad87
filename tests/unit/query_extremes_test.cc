// The lightest and the heaviest second of a total: seconds that were, or no figure.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/codec.h"
#include "sketch/vital_ids.h"
#include "tests/support/query_store.h"

namespace telltale::query {
namespace {

using ::telltale::testing::QueryStore;

constexpr uint64_t kHour = 3600;

std::string FirstKind(uint32_t id) {
  const v1::Schema schema = proto::BuiltinSchema();
  for (const v1::VitalDescriptor& vital : schema.vitals()) {
    if (vital.id() == id) return vital.subs(0).name();
  }
  return "";
}

// Reads and writes alternate: of each kind a second is 0 or 2, of their sum all are 2.
TEST(QueryExtremesTest, OfATotalItsOwnSecondsAreShownOrWhatIsShownIsCalledBounds) {
  QueryStore store(1);
  store.set_change([](uint64_t, v1::SummaryBody& body) {
    for (v1::Vital& vital : *body.mutable_vitals()) {
      if (vital.id() != TELLTALE_SYSCALL) continue;
      for (v1::SubSeries& sub : *vital.mutable_subs()) {
        sub.set_weight(0);
        sub.set_events(0);
        sub.clear_second_weight();
      }
      vital.clear_samples();
      vital.mutable_sketch()->set_total(120);
      for (int sub = 0; sub < 2; ++sub) {
        vital.mutable_subs(sub)->set_weight(60);
        vital.mutable_subs(sub)->set_events(60);
        for (int i = 0; i < 60; ++i) {
          vital.mutable_subs(sub)->add_second_weight((i + sub) % 2 == 0 ? 2 : 0);
        }
      }
    }
  });
  store.Put(0, 9 * kHour);
  store.set_now(10 * kHour);
  store.RollUp();
  auto request = store.Asked<v1::SeriesRequest>(0, kHour);
  request.add_vitals("syscall");
  const auto hour = store.engine().Series(request, {});
  ASSERT_TRUE(hour.ok()) << hour.status();
  EXPECT_THAT(hour->series(0).bounds(), ::testing::IsEmpty());
  EXPECT_THAT(hour->series(0).min(), ::testing::Each(2));
  EXPECT_THAT(hour->series(0).max(), ::testing::Each(2));
  request = store.Asked<v1::SeriesRequest>(0, 8 * kHour);  // more epochs than are read for it
  request.add_vitals("syscall");
  request.add_vitals("syscall/" + FirstKind(TELLTALE_SYSCALL));
  const auto day = store.engine().Series(request, {});
  ASSERT_TRUE(day.ok()) << day.status();
  EXPECT_THAT(day->series(0).bounds(), ::testing::Each(true));
  EXPECT_THAT(day->series(0).bounds(), ::testing::SizeIs(day->series(0).rate_size()));
  EXPECT_THAT(day->series(1).bounds(), ::testing::IsEmpty());
  EXPECT_THAT(day->series(1).max(), ::testing::Each(2));
}

}  // namespace
}  // namespace telltale::query
