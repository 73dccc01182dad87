// Windows come up to date node by node: what cannot be read of one holds up none of the others, and
// what is sent without end holds up neither windows nor a stop.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "collector/ingest/shard.h"
#include "collector/ingest/store_adapter.h"
#include "collector/ingest_figures.h"
#include "proto/codec.h"
#include "storage/store.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

constexpr uint32_t kNodes = 20;  // more than a shard looks at together

class ShardRollupTest : public ::testing::Test {
 protected:
  ShardRollupTest() : store_(Open()), adapter_(store_.get()), shard_(Context()) {
    for (uint32_t i = 0; i < kNodes; ++i) {
      const std::string name = "web-" + std::to_string(i + 1);
      nodes_.push_back(*store_->nodes().NumberOf(name));
      EXPECT_TRUE(store_->summaries().PutSchema(nodes_[i], proto::BuiltinSchema()).ok());
      const MadeSummary made = SyntheticNode(name, i + 1).Make(1, kStart);
      const storage::Incoming item{nodes_[i], &made.summary, &made.body, true};
      EXPECT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());
      shard_.Load(*store_->nodes().Find(nodes_[i]));
    }
  }

  std::unique_ptr<storage::Store> Open() {
    storage::StoreOptions options;
    options.path = dir_.path() + "/store";
    options.now_ns = [this] { return clock_.UnixNs(); };
    options.min_free_bytes = 0;
    options.memory_bytes = 32 << 20;
    return *storage::Store::Open(options);
  }
  ingest::ShardContext Context() {
    ingest::ShardContext context;
    context.store = &adapter_;
    context.clock = &clock_;
    context.stats = &stats_;
    return context;
  }
  void DamageRawOf(uint32_t node) {
    std::vector<storage::Row> junk;
    EXPECT_TRUE(store_->history()
                    .Scan(storage::Family::kRaw, "", "",
                          [&](std::string_view key, std::string_view) {
                            const auto of = storage::DecodeRawKey(key);
                            if (of.ok() && of->node == node) {
                              junk.push_back({storage::Family::kRaw, std::string(key), "junk", 0});
                            }
                            return true;
                          })
                    .ok());
    EXPECT_EQ(junk.size(), 1u);
    EXPECT_TRUE(store_->history().Append(junk).ok());
  }
  // So that the clock is believed.
  void HearFrom(uint32_t node) {
    ASSERT_TRUE(store_->nodes()
                    .Update(node, storage::Durability::kBuffered,
                            [this](storage::NodeRecord& record) {
                              record.set_last_received_ns(clock_.UnixNs());
                            })
                    .ok());
  }
  uint32_t WindowsOf(uint32_t node) {
    uint32_t windows = 0;
    EXPECT_TRUE(store_->reader()
                    .ForEachRollup(storage::Tier::k5Min, node, 0, UINT64_MAX, {0},
                                   [&](const storage::RollupRow&) {
                                     ++windows;
                                     return true;
                                   })
                    .ok());
    return windows;
  }

  TempDir dir_;
  TurnedClock clock_;
  ingest::IngestStats stats_;
  std::unique_ptr<storage::Store> store_;
  ingest::StoreAdapter adapter_;
  ingest::Shard shard_;
  std::vector<uint32_t> nodes_;
};

TEST_F(ShardRollupTest, AnEpochOfOneNodeThatNobodyDescribedHoldsUpNoOther) {
  MadeSummary made = SyntheticNode("web-1", 1).Make(2, kStart + 60 * kSecond);
  made.summary.set_schema_id(made.summary.schema_id() + 1);
  const storage::Incoming item{nodes_[0], &made.summary, &made.body, true};
  ASSERT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());
  clock_.Advance(600 * kSecond);
  EXPECT_TRUE(shard_.RollUp(1000)) << "goes on to the next nodes";
  EXPECT_EQ(stats_.Snapshot().Of(ingest::Count::kRollupErrors), 1u);
  EXPECT_EQ(WindowsOf(nodes_[0]), 0u);
  for (size_t i = 1; i < nodes_.size(); ++i) EXPECT_EQ(WindowsOf(nodes_[i]), 1u) << "node " << i;
  EXPECT_FALSE(shard_.RollUp(1000)) << "what waits is not tried without end";
  EXPECT_EQ(stats_.Snapshot().Of(ingest::Count::kRollupErrors), 1u);
}

TEST_F(ShardRollupTest, ADamagedEpochOfOneNodeHoldsUpNothing) {
  DamageRawOf(nodes_[0]);
  clock_.Advance(600 * kSecond);
  for (size_t calls = 0; shard_.RollUp(1000); ++calls) {
    ASSERT_LT(calls, nodes_.size()) << "does not come to an end";
  }
  for (size_t i = 0; i < nodes_.size(); ++i) EXPECT_EQ(WindowsOf(nodes_[i]), 1u) << "node " << i;
  EXPECT_GT(store_->reader().Unreadable(storage::Family::kRaw), 0u);
  EXPECT_EQ(stats_.Snapshot().Of(ingest::Count::kRollupErrors), 0u) << "its windows say it";
}

TEST_F(ShardRollupTest, WindowsWhoseEpochsExpiredBeforeTheyWereComputedAreCounted) {
  MadeSummary made = SyntheticNode("web-1", 1).Make(2, kStart + 60 * kSecond);
  const uint64_t day_ns = storage::kDayNs;
  clock_.Advance(600 * kSecond);
  while (shard_.RollUp(1000)) {
  }
  EXPECT_EQ(stats_.Snapshot().Of(ingest::Count::kWindowsExpired), 0u) << "all were computed";

  // Late, and nobody computes its window while its epochs are kept.
  const storage::Incoming item{nodes_[0], &made.summary, &made.body, true};
  ASSERT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());
  clock_.Advance(23 * day_ns);
  for (const uint32_t node : nodes_) HearFrom(node);
  ASSERT_TRUE(store_->Maintain().ok());
  ASSERT_GT(store_->reader().RawFloorNs(), kStart);
  while (shard_.RollUp(1000)) {
  }
  EXPECT_EQ(stats_.Snapshot().Of(ingest::Count::kWindowsExpired), 1u)
      << "its window of 5 minutes, not those of an hour and a day around it";
  EXPECT_EQ(collector::FiguresOf(stats_.Snapshot()).windows_expired, 1u);
  EXPECT_EQ(*store_->reader().DirtyWindows(), 0u);
}

// An agent that always has one more epoch waiting.
class BacklogTest : public ::testing::Test {
 protected:
  BacklogTest() : core_({.shards = 1, .batch_items = 1}, {}, &store_, &clock_) {
    session_ = stream_.Open(core_, agent_.node);
    core_.Deliver(session_, Hello(agent_));
    core_.Deliver(session_, SchemaMessage());
    core_.RunPending();
    for (int i = 0; i < 2; ++i) SendOne();
  }
  // The same again and again: a repeat goes the same way.
  void SendOne() { core_.Deliver(session_, Summary(agent_, 1)); }

  TurnedClock clock_;
  MemoryIngestStore store_{&clock_};
  ingest::IngestCore core_;
  const AgentIdentity agent_;
  FakeStream stream_;
  std::shared_ptr<ingest::Session> session_;
};

TEST_F(BacklogTest, WindowsComeWhileItLasts) {
  constexpr uint64_t kBatches = 100;
  std::promise<void> over;
  uint64_t roll_ups = 0;  // while there was more to take in
  store_.before_roll_up = [&] { roll_ups += store_.batches < kBatches ? 1 : 0; };
  store_.after_put = [&] {
    clock_.Advance(kSecond);
    if (store_.batches < kBatches) SendOne();
    if (store_.batches == kBatches) over.set_value();
  };
  core_.Start();
  over.get_future().wait();
  core_.Stop();
  EXPECT_EQ(roll_ups, 12u) << "after each eighth batch";
}

TEST_F(BacklogTest, AStopTakesInForTwentySecondsWhatWaitsAndNoMore) {
  std::promise<void> begun;
  bool stops = false;     // takes no orders any more
  uint64_t taken_in = 0;  // since then
  store_.before_put = [&] {
    core_.Keep({.node = "nobody"}, [&stops](const absl::StatusOr<v1::KeepAnswer>& answer) {
      if (absl::IsUnavailable(answer.status())) stops = true;
    });
    taken_in += stops ? 1 : 0;
    if (store_.batches == 1) begun.set_value();
    if (taken_in < 100) SendOne();
    clock_.Advance(kSecond);
    return absl::OkStatus();
  };
  core_.Start();
  begun.get_future().wait();
  core_.Stop();
  EXPECT_EQ(taken_in, 20u);
  ASSERT_TRUE(stream_.closed().has_value());
  EXPECT_EQ(stream_.closed()->code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace telltale::testing
