// Which stored epochs filters are shown: each is opened once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "collector/filter/epoch_source.h"
#include "tests/support/query_store.h"

namespace telltale::filter {
namespace {

using ::testing::ElementsAre;

class EpochSourceTest : public ::testing::Test {
 protected:
  EpochSourceTest() {
    store_.set_now(600);
    store_.Put(0, 300);
    all_ = Shown(0, UINT64_MAX, &StoreEpochSource::ForEach);
  }
  using Read = absl::Status (StoreEpochSource::*)(uint32_t, uint64_t, uint64_t,
                                                  const EpochSource::Visitor&) const;
  std::vector<storage::EpochSpan> Shown(uint64_t from_ns, uint64_t to_ns, Read read) {
    std::vector<storage::EpochSpan> spans;
    sequences_.clear();
    const auto visit = [&](const SourceEpoch& epoch) {
      spans.push_back(epoch.span);
      sequences_.push_back(epoch.sequence);
      return true;
    };
    EXPECT_TRUE((source_.*read)(source_.Nodes()[0].number, from_ns, to_ns, visit).ok());
    return spans;
  }

  testing::QueryStore store_{1};
  StoreEpochSource source_{&store_.store().reader()};
  std::vector<storage::EpochSpan> all_;
  std::vector<uint64_t> sequences_;
};

TEST_F(EpochSourceTest, WhoGoesOnFromAnEpochIsNotShownItAgain) {
  ASSERT_EQ(all_.size(), 5u);
  Shown(all_[2].start_ns, UINT64_MAX, &StoreEpochSource::ForEach);
  EXPECT_THAT(sequences_, ElementsAre(3, 4, 5));
  Shown(all_[2].start_ns + 1, UINT64_MAX, &StoreEpochSource::ForEach);
  EXPECT_THAT(sequences_, ElementsAre(4, 5));
}

TEST_F(EpochSourceTest, WhichCannotBeOpenedIsTold) {
  ASSERT_EQ(all_.size(), 5u);
  std::vector<storage::Row> junk;
  const auto spoil = [&](std::string_view key, std::string_view) {
    if (storage::DecodeRawKey(key)->start_ns == all_[2].start_ns) {
      junk.push_back({storage::Family::kRaw, std::string(key), "\x01junk", 0});
    }
    return true;
  };
  storage::History& history = store_.store().history();
  ASSERT_TRUE(history.Scan(storage::Family::kRaw, "", "", spoil).ok());
  ASSERT_EQ(junk.size(), 1u);
  ASSERT_TRUE(history.Append(junk).ok());
  std::vector<uint64_t> shown, unreadable;
  const auto read = [&](uint64_t from_ns) {
    shown.clear();
    unreadable.clear();
    EXPECT_TRUE(source_
                    .ForEachStored(
                        source_.Nodes()[0].number, from_ns, UINT64_MAX,
                        [&](const SourceEpoch& epoch) {
                          shown.push_back(epoch.sequence);
                          return true;
                        },
                        [&](uint64_t start_ns) { unreadable.push_back(start_ns); })
                    .ok());
  };
  read(0);
  EXPECT_THAT(shown, ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(unreadable, ElementsAre(all_[2].start_ns));
  read(all_[2].start_ns + 1);
  EXPECT_THAT(shown, ElementsAre(4, 5));
  EXPECT_TRUE(unreadable.empty());
}

TEST_F(EpochSourceTest, AMinuteOfAccountsHasTheEpochWhoseMiddleLiesInIt) {
  ASSERT_EQ(all_.size(), 5u);
  const uint64_t minute_ns = 60 * storage::kSecondNs;
  for (const uint64_t later_s : {0, 20, 40}) {
    const uint64_t from_ns = all_[1].start_ns + later_s * storage::kSecondNs;
    Shown(from_ns, from_ns + minute_ns, &StoreEpochSource::ForEachAccount);
    EXPECT_THAT(sequences_, ElementsAre(later_s < 30 ? 2 : 3)) << later_s;
  }
}

}  // namespace
}  // namespace telltale::filter
