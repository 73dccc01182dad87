// 24 h of distinct epochs of many nodes in shuffled order of arrival, all tiers byte for byte. 50
// nodes: tests/soak.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "storage/history.h"
#include "tests/support/rollup_trial.h"

namespace telltale::storage {
namespace {

TEST(StorageDayTest, NodesInShuffledOrderEqualTheRecomputationFromRaw) {
  telltale::testing::RollupTrial trial;
  trial.nodes = 8;  // all 50 take minutes: tests/soak
  if (const char* nodes = std::getenv("TELLTALE_TRIAL_NODES")) {
    trial.nodes = static_cast<uint32_t>(std::atoi(nodes));
  }
  trial.roll_every = 100;
  trial.batch = 128;
  const telltale::testing::RollupTrialResult result = RunTrial(trial);
  EXPECT_EQ(result.wrong, "");
  EXPECT_EQ(result.summaries, trial.nodes * 24ull * 60);
  std::printf("%llu rows compared; bytes per node and day:\n",
              static_cast<unsigned long long>(result.compared_rows));
  std::printf("  CPU ms an epoch: make %.3f, put %.3f, roll %.3f, oracle %.3f\n",
              result.make_s * 1e3 / static_cast<double>(result.summaries),
              result.put_s * 1e3 / static_cast<double>(result.summaries),
              result.roll_s * 1e3 / static_cast<double>(result.summaries),
              result.compare_s * 1e3 / static_cast<double>(result.summaries));
  for (size_t i = 0; i < kFamilies; ++i) {
    std::printf("  %-8s %10.1f kB\n", std::string(FamilyName(static_cast<Family>(i))).c_str(),
                static_cast<double>(result.store_bytes[i]) / trial.nodes / 1e3);
  }
}

}  // namespace
}  // namespace telltale::storage
