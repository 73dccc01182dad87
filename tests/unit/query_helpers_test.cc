#include "collector/query/helpers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace telltale::query {
namespace {

TEST(HelpersTest, EachPartIsDoneOnceHoweverManyAsk) {
  for (const size_t threads : {0u, 1u, 3u}) {
    Helpers helpers(threads);
    std::vector<std::thread> askers;
    for (int asker = 0; asker < 4; ++asker) {
      askers.emplace_back([&helpers] {
        for (size_t parts = 0; parts < 40; ++parts) {
          std::vector<std::atomic<int>> done(parts);
          helpers.Run(parts, [&done](size_t part) { ++done[part]; });
          for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
        }
      });
    }
    for (std::thread& asker : askers) asker.join();
  }
}

TEST(HelpersTest, PartsAreDoneBesideEachOther) {
  Helpers helpers(1);
  std::mutex mutex;
  std::condition_variable met;
  int here = 0;
  helpers.Run(2, [&](size_t) {
    std::unique_lock lock(mutex);
    ++here;
    met.notify_all();
    met.wait(lock, [&here] { return here == 2; });
  });
}

// Who helps is busy with another's question until that one's first part has been done.
TEST(HelpersTest, NobodyWaitsForHelp) {
  Helpers helpers(1);
  std::mutex mutex;
  std::condition_variable changed;
  int busy = 0;
  bool go_on = false;
  std::thread other([&] {
    helpers.Run(2, [&](size_t) {
      std::unique_lock lock(mutex);
      ++busy;
      changed.notify_all();
      changed.wait(lock, [&go_on] { return go_on; });
    });
  });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&busy] { return busy == 2; });
  }
  int done = 0;
  helpers.Run(3, [&done](size_t) { ++done; });
  EXPECT_EQ(done, 3);
  {
    std::lock_guard lock(mutex);
    go_on = true;
  }
  changed.notify_all();
  other.join();
}

}  // namespace
}  // namespace telltale::query
