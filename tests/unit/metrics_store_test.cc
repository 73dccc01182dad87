// Figures of a store that has aged: pruned by the threads that roll up, saying what they said
// before.
#include <gtest/gtest.h>

#include <memory>

#include "collector/ingest/store_adapter.h"
#include "collector/metrics/store_figures.h"
#include "proto/codec.h"
#include "storage/node_pruning.h"
#include "storage/store.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::metrics {
namespace {

using storage::kDayNs;
using storage::kSecondNs;

uint64_t MissingOf(const storage::Store& store) {
  MetricSources sources;
  UseStore(&store.reader(), sources);
  uint64_t missing = 0;
  sources.for_each_node([&](const NodeFigures& node) { missing += node.epochs_missing; });
  return missing;
}

TEST(StoreFiguresTest, UserStacksAndFramesAddUpAndSurviveARestart) {
  testing::TempDir dir;
  storage::StoreOptions options;
  options.path = dir.path() + "/store";
  options.now_ns = [] { return 20'500 * kDayNs; };
  options.min_free_bytes = 0;
  testing::SyntheticNode maker("web-1", 1);
  for (uint64_t i = 0; i < 3; ++i) {  // opened anew for each
    auto store = *storage::Store::Open(options);
    const uint32_t node = *store->nodes().NumberOf("web-1");
    ASSERT_TRUE(store->summaries().PutSchema(node, proto::BuiltinSchema()).ok());
    testing::MadeSummary made = maker.Make(i + 1, 20'500 * kDayNs + i * 60 * kSecondNs);
    made.body.mutable_user_stacks()->add_end(v1::STACK_END_COMPLETE);
    made.body.mutable_user_stacks()->add_samples(40 + i);
    made.body.mutable_user_frames()->add_outcome(v1::NAME_OUTCOME_NAMED);
    made.body.mutable_user_frames()->add_frames(400 + i);
    if (i == 1) {
      made.body.mutable_user_stacks()->add_end(v1::STACK_END_WINDOW);
      made.body.mutable_user_stacks()->add_samples(2);
    }
    const storage::Incoming item{node, &made.summary, &made.body, true};
    ASSERT_TRUE(store->summaries().PutBatch({&item, 1}).ok());
  }
  auto store = *storage::Store::Open(options);
  MetricSources sources;
  UseStore(&store->reader(), sources);
  std::vector<std::pair<uint32_t, uint64_t>> stacks, frames;
  sources.for_each_node([&](const NodeFigures& node) {
    stacks = node.user_stacks;
    frames = node.user_frames;
  });
  using Counts = std::vector<std::pair<uint32_t, uint64_t>>;
  EXPECT_EQ(stacks, (Counts{{v1::STACK_END_COMPLETE, 123}, {v1::STACK_END_WINDOW, 2}}));
  EXPECT_EQ(frames, (Counts{{v1::NAME_OUTCOME_NAMED, 1'203}}));
}

TEST(AgedStoreTest, EpochsOfInstallationsLongGoneAreStillMissing) {
  constexpr uint64_t kInstallations = storage::kIdleLedgers + 30;
  testing::TempDir dir;
  uint64_t now_ns = 20'500 * kDayNs;
  storage::StoreOptions options;
  options.path = dir.path() + "/store";
  options.now_ns = [&now_ns] { return now_ns; };
  options.min_free_bytes = 0;
  auto store = *storage::Store::Open(options);
  const uint32_t node = *store->nodes().NumberOf("web-1");
  testing::SyntheticNode maker("web-1", 1);
  ASSERT_TRUE(store->summaries().PutSchema(node, proto::BuiltinSchema()).ok());
  for (uint64_t i = 0; i < kInstallations; ++i) {
    maker.set_incarnation_byte(static_cast<uint8_t>(i));
    const testing::MadeSummary made = maker.Make(3, now_ns + i * 60 * kSecondNs);
    const storage::Incoming item{node, &made.summary, &made.body, true};
    ASSERT_TRUE(store->summaries().PutBatch({&item, 1}).ok());
  }
  EXPECT_EQ(MissingOf(*store), 2 * kInstallations);

  now_ns += 40 * kDayNs;
  // As if a summary had come now, so that the clock is believed.
  ASSERT_TRUE(store->nodes()
                  .Update(node, storage::Durability::kBuffered,
                          [&](storage::NodeRecord& record) { record.set_last_received_ns(now_ns); })
                  .ok());
  ASSERT_TRUE(store->Maintain().ok());
  ingest::StoreAdapter adapter(store.get());
  uint32_t rounds = 0;
  while (*adapter.RollUp({&node, 1}, now_ns, 8, nullptr) != 0) ASSERT_LT(++rounds, 1000u);
  EXPECT_EQ(store->reader().Ledgers(node).size(), storage::kIdleLedgers);
  EXPECT_EQ(MissingOf(*store), 2 * kInstallations);
}

}  // namespace
}  // namespace telltale::metrics
