// Windows come up to date node by node: what cannot be read of one holds up none of the others.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "collector/ingest/shard.h"
#include "collector/ingest/store_adapter.h"
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

}  // namespace
}  // namespace telltale::testing
