// The log of anomalies: order, cursors, crashes, followers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "collector/filter/anomaly_log.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"

namespace telltale::filter {
namespace {

v1::FilterAnomaly At(uint64_t second, const std::string& vital = "cpu") {
  v1::FilterAnomaly anomaly;
  anomaly.set_vital(vital);
  anomaly.set_sub("user");
  anomaly.set_start_ns(second * 1'000'000'000);
  anomaly.set_end_ns((second + 10) * 1'000'000'000);
  anomaly.set_value_micro(1'500'000);
  anomaly.set_severity_milli(-7'250);
  return anomaly;
}

// Fails the writes of state from the n-th on.
class FailingCatalog : public storage::MemoryCatalog {
 public:
  std::unique_ptr<storage::Transaction> Begin() override {
    return std::make_unique<Checked>(storage::MemoryCatalog::Begin(), *this);
  }
  int commits_left = 1'000'000;
  int durable_commits = 0;

 private:
  class Checked : public storage::Transaction {
   public:
    Checked(std::unique_ptr<storage::Transaction> real, FailingCatalog& catalog)
        : real_(std::move(real)), catalog_(catalog) {}
    absl::StatusOr<std::string> Get(std::string_view key) const override { return real_->Get(key); }
    absl::Status Scan(std::string_view from, std::string_view to,
                      const storage::CatalogVisitor& visit) const override {
      return real_->Scan(from, to, visit);
    }
    void Put(std::string_view key, std::string_view value) override { real_->Put(key, value); }
    void Delete(std::string_view key) override { real_->Delete(key); }
    absl::Status Commit(storage::Durability durability) override {
      if (catalog_.commits_left-- <= 0) return absl::ResourceExhaustedError("disk full");
      catalog_.durable_commits += durability == storage::Durability::kDurable ? 1 : 0;
      return real_->Commit(durability);
    }

   private:
    const std::unique_ptr<storage::Transaction> real_;
    FailingCatalog& catalog_;
  };
};

class AnomalyLogTest : public ::testing::Test {
 protected:
  AnomalyLogTest() : store_(&history_, &catalog_) { Reopen(); }
  void Reopen() {
    log_.reset();
    auto log = AnomalyLog::Open({.store = &store_, .kept = 200, .recent = 20, .max_waiters = 10});
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
  }
  bool Append(uint64_t second, const std::string& node = "a") {
    const auto added = log_->Append("ewma", 1, node, At(second));
    return added.ok() && *added && log_->Publish().ok();
  }
  // Start seconds behind a cursor.
  std::vector<double> Starts(const std::string& cursor, size_t limit = 1000) {
    std::vector<double> starts;
    const auto found = log_->After(cursor, limit);
    EXPECT_TRUE(found.ok()) << found.status();
    if (found.ok()) {
      for (const v1::Anomaly& anomaly : *found) starts.push_back(anomaly.start_s());
    }
    return starts;
  }

  storage::MemoryHistory history_;
  FailingCatalog catalog_;
  storage::DerivedStore store_;
  std::unique_ptr<AnomalyLog> log_;
};

TEST_F(AnomalyLogTest, FollowingGoesOnAtTheCursorWithoutLossOrRepeat) {
  std::vector<double> followed, expected;
  std::string cursor = log_->NowCursor();
  for (uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(Append(i));
    expected.push_back(static_cast<double>(i));
    if (i % 7 != 0) continue;
    if (i % 2 == 0) Reopen();
    // Three at a time, as a follower with little room would.
    while (true) {
      const auto found = log_->After(cursor, 3);
      ASSERT_TRUE(found.ok());
      if (found->empty()) break;
      for (const v1::Anomaly& anomaly : *found) followed.push_back(anomaly.start_s());
      cursor = found->back().cursor();
    }
  }
  for (const double start : Starts(cursor)) followed.push_back(start);
  EXPECT_EQ(followed, expected);
}

TEST_F(AnomalyLogTest, FromNowOnLeavesThePastOut) {
  Append(1);
  const std::string now = log_->NowCursor();
  Append(2);
  EXPECT_EQ(Starts(now), std::vector<double>{2});
}

TEST_F(AnomalyLogTest, TheSameAnomalyAgainIsNotAnotherOne) {
  EXPECT_TRUE(Append(1));
  EXPECT_FALSE(Append(1));
  Reopen();
  EXPECT_FALSE(Append(1));
  EXPECT_EQ(Starts("0").size(), 1u);
  EXPECT_TRUE(Append(1, "b"));
}

// A crash may take what is not on disk yet: nobody has been shown that.
TEST_F(AnomalyLogTest, IsShownOnceItIsOnDiskAndAllAtOnce) {
  int woken = 0;
  const auto waiter = log_->Wait([&] { ++woken; });
  ASSERT_TRUE(waiter.ok());
  const int before = catalog_.durable_commits;
  for (uint64_t i = 1; i <= 50; ++i) ASSERT_TRUE(*log_->Append("ewma", 1, "a", At(i)));
  EXPECT_EQ(Starts("0").size(), 0u);
  EXPECT_EQ(log_->NowCursor(), "0");
  EXPECT_EQ(woken, 0);
  ASSERT_TRUE(log_->Publish().ok());
  EXPECT_EQ(Starts("0").size(), 50u);
  EXPECT_EQ(woken, 1);
  ASSERT_TRUE(log_->Publish().ok());
  EXPECT_EQ(catalog_.durable_commits, before + 1) << "one write to disk for all";
}

TEST_F(AnomalyLogTest, AFullDiskIsAnErrorAndTheNextTryWorks) {
  catalog_.commits_left = 0;
  EXPECT_FALSE(log_->Append("ewma", 1, "a", At(1)).ok());
  catalog_.commits_left = 1;
  EXPECT_TRUE(log_->Append("ewma", 1, "a", At(1)).ok());
  EXPECT_FALSE(log_->Publish().ok());
  EXPECT_EQ(Starts("0").size(), 0u);
  catalog_.commits_left = 1'000'000;
  EXPECT_TRUE(log_->Publish().ok());
  EXPECT_EQ(Starts("0").size(), 1u);
  Reopen();
  EXPECT_EQ(Starts("0").size(), 1u);
  EXPECT_EQ((log_->Counts()[{"ewma", "cpu"}]), 1u);
}

TEST_F(AnomalyLogTest, ACursorOfAnotherStoreIsRefused) {
  EXPECT_EQ(log_->After("5", 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log_->After("x\n", 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log_->After("-1", 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(AnomalyLogTest, AFollowerWhoWasAwayTooLongIsToldHowManyHeMissed) {
  for (uint64_t i = 1; i <= 200 + 5; ++i) Append(i);
  const auto status = log_->After("2", 10).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message().data(), status.message().size()),
              ::testing::AllOf(::testing::HasSubstr("3 after cursor 2"),
                               ::testing::HasSubstr("go on with cursor 5")));
  EXPECT_EQ(Starts("5", 2), (std::vector<double>{6, 7}));
}

// As where a damaged file was taken out of service, and an older one has the entry that was there.
TEST_F(AnomalyLogTest, AnOlderEntryInThePlaceOfOneIsLeftOut) {
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(Append(i));
  v1::LoggedAnomaly older;
  ASSERT_TRUE(older.ParseFromString(*store_.GetState("anomaly-log/2")));
  older.set_number(older.number() + 200);
  ASSERT_TRUE(
      store_.PutState("anomaly-log/2", older.SerializeAsString(), storage::Durability::kDurable)
          .ok());
  Reopen();
  EXPECT_EQ(Starts("0"), (std::vector<double>{1, 3}));
}

TEST_F(AnomalyLogTest, CountsSurviveARestart) {
  Append(1);
  Append(2);
  ASSERT_TRUE(log_->Append("ewma", 1, "a", At(3, "disk_io")).ok());
  Reopen();
  EXPECT_EQ((log_->Counts()[{"ewma", "cpu"}]), 2u);
  EXPECT_EQ((log_->Counts()[{"ewma", "disk_io"}]), 1u);
  EXPECT_EQ(log_->Recent("a"), 3u);
}

TEST_F(AnomalyLogTest, OfAFilterThatNamesVitalsWithoutEndTheFirstAreCountedApart) {
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(log_->Append("odd", 1, "a", At(i, "pod-" + std::to_string(i))).ok());
  }
  Append(100);
  EXPECT_EQ((log_->Counts()[{"odd", "pod-63"}]), 1u);
  EXPECT_EQ((log_->Counts()[{"odd", "[other]"}]), 36u);
  EXPECT_EQ((log_->Counts()[{"ewma", "cpu"}]), 1u);
  EXPECT_EQ(log_->Counts().size(), 66u);
}

TEST_F(AnomalyLogTest, FiguresAreInBaseUnits) {
  Append(4);
  const v1::Anomaly anomaly = log_->After("0", 1)->front();
  EXPECT_EQ(anomaly.value(), 1.5);
  EXPECT_EQ(anomaly.severity(), -7.25);
  EXPECT_EQ(anomaly.id(), "ewma/1/a/cpu/user/4000");
  EXPECT_EQ(anomaly.cursor(), "1");
}

TEST_F(AnomalyLogTest, WakesAFollowerInAnotherThread) {
  std::mutex mutex;
  std::condition_variable changed;
  int wakes = 0;
  auto waiter = log_->Wait([&] {
    const std::lock_guard lock(mutex);
    ++wakes;
    changed.notify_all();
  });
  ASSERT_TRUE(waiter.ok());
  std::thread writer([&] { Append(1); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return wakes > 0; });
  }
  writer.join();
  waiter->reset();
  Append(2);
  EXPECT_EQ(wakes, 1);
}

TEST_F(AnomalyLogTest, FollowersAreBounded) {
  std::vector<std::unique_ptr<feed::Waiter>> waiters;
  for (int i = 0; i < 10; ++i) waiters.push_back(*log_->Wait([] {}));
  EXPECT_EQ(log_->Wait([] {}).status().code(), absl::StatusCode::kResourceExhausted);
  waiters.pop_back();
  EXPECT_TRUE(log_->Wait([] {}).ok());
}

}  // namespace
}  // namespace telltale::filter
