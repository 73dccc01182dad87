// Names told, kept and dropped by several threads at once, in memory only: the thread sanitizer
// does not see into RocksDB.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "storage/dictionary.h"
#include "storage/memory_history.h"
#include "tests/support/named_locations.h"

namespace telltale::storage {
namespace {

using testing::kNamedBuild;
using testing::Named;
using testing::TablesOf;

constexpr uint64_t kNow = 3'000 * 7 * kDayNs;
constexpr uint64_t kPlenty = 1 << 20;

// Lets something happen just before rows are written.
class InterruptedHistory : public MemoryHistory {
 public:
  absl::Status Append(std::span<const Row> rows) override {
    if (std::function<void()> now = std::exchange(before_append, nullptr)) now();
    return MemoryHistory::Append(rows);
  }
  std::function<void()> before_append;
};

TEST(DictionaryRaceTest, WhoTellsWhileANameIsFoundMissingSeesThatItIsWanted) {
  InterruptedHistory history;
  const auto names = *Dictionary::Open(&history);
  std::future<void> told;
  history.before_append = [&] {
    told = std::async(std::launch::async, [&] {
      for (uint32_t node : {1, 2}) {
        EXPECT_TRUE(names->Tell(node, Named({{64, "main"}}), {kNow, 0, kPlenty}).ok());
      }
    });
    told.wait_for(std::chrono::milliseconds(200));  // it has to wait for Keep, not the other way
  };
  ASSERT_TRUE(names->Keep(Tier::k5Min, kNow, 3, TablesOf({64})).ok());
  told.get();
  ASSERT_TRUE(names->DropBefore(Tier::kRaw, kNow + 100 * kDayNs).ok());
  EXPECT_EQ(names->Name(kNamedBuild, 64, 3), "main");
}

TEST(DictionaryRaceTest, NodesTellAndKeepAtOnceWhileOldPartitionsGo) {
  constexpr uint32_t kNodes = 3;
  constexpr uint64_t kLocations = 200;
  MemoryHistory history;
  const auto names = *Dictionary::Open(&history);
  const auto tell = [&](uint32_t node, uint64_t offset, uint64_t now_ns) {
    EXPECT_TRUE(names->Tell(node, Named({{offset, "f"}}), {now_ns, 0, kPlenty}).ok());
  };
  tell(1, 1, kNow - 100 * kDayNs);
  std::vector<std::thread> threads;
  for (uint32_t node = 1; node <= kNodes; ++node) {
    threads.emplace_back([&, node] {
      for (uint64_t offset = 0; offset < kLocations; ++offset) {
        // The last node tells nothing: it wants what the others agree on.
        if (node != kNodes) tell(node, offset, kNow);
        EXPECT_TRUE(names->Keep(Tier::k5Min, kNow, node, TablesOf({offset})).ok());
        names->Name(kNamedBuild, offset, node);
      }
    });
  }
  threads.emplace_back([&] { EXPECT_EQ(*names->DropBefore(Tier::kRaw, kNow - 50 * kDayNs), 1u); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(names->partitions().size(), 2u);
  ASSERT_TRUE(names->DropBefore(Tier::kRaw, kNow + 100 * kDayNs).ok());
  for (uint32_t node = 1; node <= kNodes; ++node) {
    for (uint64_t offset = 0; offset < kLocations; ++offset) {
      ASSERT_EQ(names->Name(kNamedBuild, offset, node), "f") << "node " << node << " at " << offset;
    }
  }
}

}  // namespace
}  // namespace telltale::storage
