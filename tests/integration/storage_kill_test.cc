// A process that stores summaries is killed at random moments, again and again, on one data
// directory. The parent never opens the store itself: writer and checker are children of their own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "storage/store.h"
#include "tests/support/store_check.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::CheckBooks;
using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;
using telltale::testing::TempDir;

constexpr uint64_t kStart = 20'500 * kDayNs;
constexpr int kRounds = 50;
constexpr int kNodes = 3;

using Acked = std::map<uint32_t, std::set<uint64_t>>;  // node -> sequences

std::unique_ptr<Store> OpenStore(const std::string& path) {
  StoreOptions options;
  options.path = path;
  options.now_ns = [] { return kStart + 3 * kDayNs; };
  options.memory_bytes = 16 << 20;
  options.min_free_bytes = 0;
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(options);
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return nullptr;
  }
  return *std::move(store);
}

struct Ack {
  uint32_t node;
  uint32_t sequence;
};

// Stores batches of all nodes until killed; writes each acknowledged identity to `acks`.
int WriteForEver(const std::string& path, uint32_t first, int acks) {
  std::unique_ptr<Store> store = OpenStore(path);
  if (store == nullptr) return 3;
  std::vector<SyntheticNode> makers;
  std::vector<uint32_t> numbers;
  for (int i = 0; i < kNodes; ++i) {
    makers.emplace_back("node-" + std::to_string(i), static_cast<uint64_t>(i + 1));
    numbers.push_back(*store->nodes().NumberOf(makers.back().name()));
  }
  for (uint32_t sequence = first;; ++sequence) {
    std::vector<MadeSummary> made;
    std::vector<Incoming> batch;
    for (const SyntheticNode& maker : makers) {
      made.push_back(maker.Make(sequence, kStart + sequence * 10ull * kSecondNs, 10));
    }
    for (int i = 0; i < kNodes; ++i) {
      batch.push_back({numbers[i], &made[i].summary, &made[i].body, true});
    }
    if (!store->summaries().PutBatch(batch).ok()) return 4;
    for (uint32_t number : numbers) {
      const Ack ack{number, sequence};
      if (write(acks, &ack, sizeof(ack)) != sizeof(ack)) return 5;
    }
  }
}

int Check(const std::string& path, const Acked& acked) {
  std::unique_ptr<Store> store = OpenStore(path);
  if (store == nullptr) return 3;
  for (const auto& [node, sequences] : acked) {
    const std::string wrong = CheckBooks(*store, node, sequences);
    if (!wrong.empty()) {
      std::fprintf(stderr, "node %u: %s\n", node, wrong.c_str());
      return 1;
    }
  }
  return 0;
}

int RunChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(StorageKillTest, NoAckedEpochIsLostAndNoneCountedTwice) {
  TempDir dir;
  const std::string path = dir.path() + "/store";
  Acked acked;
  uint32_t next = 1;
  uint64_t random = 12345;
  for (int round = 0; round < kRounds; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_NE(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), -1);
    const pid_t writer = fork();
    ASSERT_NE(writer, -1);
    if (writer == 0) {
      close(ends[0]);
      _exit(WriteForEver(path, next, ends[1]));
    }
    close(ends[1]);
    // It takes a while until it has opened the store; then a random moment.
    pollfd first_ack{ends[0], POLLIN, 0};
    ASSERT_EQ(poll(&first_ack, 1, 60'000), 1) << "nothing was stored for a minute";
    random = random * 6364136223846793005 + 1442695040888963407;
    std::this_thread::sleep_for(std::chrono::milliseconds((random >> 40) % 100));
    kill(writer, SIGKILL);
    int status = 0;
    waitpid(writer, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << WEXITSTATUS(status);
    Ack ack;
    uint32_t highest = next - 1;
    while (read(ends[0], &ack, sizeof(ack)) == sizeof(ack)) {
      acked[ack.node].insert(ack.sequence);
      highest = std::max(highest, ack.sequence);
    }
    close(ends[0]);
    // The next writer begins with some that were acknowledged, and with the one that was under way.
    next = highest > 3 ? highest - 2 : 1;
    if (round % 10 == 9) {
      ASSERT_EQ(RunChild([&] { return Check(path, acked); }), 0) << "round " << round;
    }
  }
  ASSERT_EQ(acked.size(), static_cast<size_t>(kNodes));
  EXPECT_GT(acked.begin()->second.size(), 20u);
  std::printf("%zu epochs of each of %d nodes acknowledged over %d kills\n",
              acked.begin()->second.size(), kNodes, kRounds);
}

}  // namespace
}  // namespace telltale::storage
