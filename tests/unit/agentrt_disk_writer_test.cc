// What happens to epochs when the disk is full, hangs, or comes back.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "agent/spool/disk_writer.h"
#include "agent/spool/spool_reader.h"
#include "proto/codec.h"
#include "tests/unit/agentrt_support.h"

namespace telltale::agent {
namespace {

// A disk that is full (new files fail, what exists can be overwritten) or hangs, on demand.
class FaultyDisk : public PosixFileSystem {
 public:
  absl::Status Write(const std::string& path, std::string_view bytes) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hangs_; });
    --waiting_;
    if (full_) return absl::ResourceExhaustedError("spool: write: No space left on device");
    lock.unlock();
    return PosixFileSystem::Write(path, bytes);
  }
  void SetFull(bool full) {
    const std::lock_guard lock(mutex_);
    full_ = full;
  }
  void SetHangs(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }
  void AwaitHanging() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool full_ = false, hangs_ = false;
  int waiting_ = 0;
};

class Seen : public SpoolObserver {
 public:
  void OnSpooled(uint64_t sequence, TimeRange, uint64_t, v1::EpochKind) override {
    const std::lock_guard lock(mutex_);
    spooled.insert(sequence);
  }
  void OnHeld(uint64_t sequence, TimeRange, std::string record, v1::EpochKind) override {
    const std::lock_guard lock(mutex_);
    held[sequence] = std::move(record);
  }
  void OnAnnounced() override { ++announced; }
  void OnLost(const v1::Lost& range) override {
    const std::lock_guard lock(mutex_);
    lost.push_back(range);
  }
  void Forget() {
    const std::lock_guard lock(mutex_);
    spooled.clear();
    held.clear();
    lost.clear();
  }
  std::mutex mutex_;
  std::set<uint64_t> spooled;
  std::map<uint64_t, std::string> held;
  std::vector<v1::Lost> lost;
  std::atomic<int> announced = 0;
};

class DiskWriterTest : public ::testing::Test {
 protected:
  std::string Directory() const { return dir_.path() + "/spool"; }
  std::unique_ptr<Spool> Open(FileSystem& files) {
    auto spool = Spool::Open(
        {Directory(), 64 << 20, 16, [](size_t bytes) { return std::string(bytes, '\x5a'); }},
        files);
    EXPECT_TRUE(spool.ok()) << spool.status();
    return *std::move(spool);
  }
  std::unique_ptr<DiskWriter> Start(size_t max_waiting = 64) {
    auto writer = std::make_unique<DiskWriter>(
        DiskWriter::Options{.node = kTestNode,
                            .schema = proto::BuiltinSchema(),
                            .max_waiting = max_waiting,
                            .retry_ms = 10,
                            .mono_ns = [this] { return mono_s_ * kSecond; }},
        Open(disk_), Journal(Directory(), disk_), seen_);
    writer->Start();
    return writer;
  }
  static v1::SummaryBody BodyOf(const Record& record) {
    const auto decoded = proto::DecodeSummary(record.summary, record.schema);
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    return decoded.ok() ? *decoded->body : v1::SummaryBody();
  }
  static FinishedEpoch Epoch(uint64_t n) { return {MakeTestBody(n), {}, {}}; }
  template <typename F>
  static void Await(F condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  static constexpr uint64_t kSecond = 1'000'000'000;

  const TempDir dir_;
  FaultyDisk disk_;
  std::atomic<uint64_t> mono_s_ = 1'000;
  Seen seen_;
};

TEST_F(DiskWriterTest, GivesEpochsTheirSequencesInOrder) {
  auto writer = Start();
  for (uint64_t i = 1; i <= 5; ++i) writer->Submit(Epoch(i));
  writer->Stop();
  EXPECT_EQ(seen_.spooled, (std::set<uint64_t>{1, 2, 3, 4, 5}));
  const auto record = ReadRecord(Directory(), 3);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->summary.start_unix_ns(), MakeTestBody(3).epoch().start_unix_ns());
}

TEST_F(DiskWriterTest, AFullDiskLeavesEpochsInMemoryWhereTheyCanBeSentAndSettled) {
  auto writer = Start();
  disk_.SetFull(true);
  writer->Submit(Epoch(1));
  writer->Submit(Epoch(2));
  Await([&] { return writer->GetStats().held == 2; });
  EXPECT_NE(writer->GetStats().problem.find("No space left"), std::string::npos);
  const auto record = DecodeRecord(seen_.held.at(1));
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->summary.identity().sequence(), 1u);
  EXPECT_TRUE(BodyOf(*record).epoch().unspooled());
  writer->Settle(1);
  Await([&] { return writer->GetStats().held == 1; });
  disk_.SetFull(false);
  Await([&] { return writer->GetStats().held == 0; });
  EXPECT_EQ(writer->GetStats().records, 1u);
  EXPECT_TRUE(writer->GetStats().problem.empty());
  // What was sent under this sequence is what is spooled under it, mark and all.
  const auto spooled = ReadRecord(Directory(), 2);
  ASSERT_TRUE(spooled.ok());
  EXPECT_EQ(EncodeRecord(*spooled), seen_.held.at(2));
  writer->Submit(Epoch(3));
  writer->Stop();
  EXPECT_FALSE(BodyOf(*ReadRecord(Directory(), 3)).epoch().unspooled());
}

TEST_F(DiskWriterTest, AFullDiskKeepsTheNewest64InMemoryAndDeclaresTheOthersLost) {
  auto writer = Start(/*max_waiting=*/100);
  disk_.SetFull(true);
  for (uint64_t i = 1; i <= 67; ++i) writer->Submit(Epoch(i));
  Await([&] { return writer->GetStats().next_sequence == 68; });
  EXPECT_EQ(writer->GetStats().held, 64u);
  EXPECT_EQ(writer->GetStats().lost_in_memory, 3u);
  disk_.SetFull(false);
  Await([&] { return writer->GetStats().held == 0; });
  writer->Stop();
  auto spool = Open(disk_);
  EXPECT_EQ(spool->records().size(), 64u);
  EXPECT_EQ(spool->records().begin()->first, 4u);
  ASSERT_EQ(spool->lost().size(), 1u);
  EXPECT_EQ(spool->lost()[0].reason(), v1::Lost::MEMORY_FULL);
  EXPECT_EQ(spool->lost()[0].first_sequence(), 1u);
  EXPECT_EQ(spool->lost()[0].last_sequence(), 3u);
}

TEST_F(DiskWriterTest, ANewUplinkIsToldEverythingThereIs) {
  auto writer = Start(/*max_waiting=*/100);
  writer->Submit(Epoch(1));
  Await([&] { return writer->GetStats().records == 1; });
  disk_.SetFull(true);
  for (uint64_t i = 2; i <= 66; ++i) writer->Submit(Epoch(i));  // one more than is kept
  Await([&] { return writer->GetStats().next_sequence == 67; });
  seen_.Forget();
  writer->Announce();
  Await([&] { return seen_.announced == 1; });
  EXPECT_EQ(seen_.spooled, (std::set<uint64_t>{1}));
  EXPECT_EQ(seen_.held.size(), 64u);
  ASSERT_EQ(seen_.lost.size(), 1u);
  EXPECT_EQ(seen_.lost[0].first_sequence(), 2u);
}

TEST_F(DiskWriterTest, ASequenceThatWasOnlyInMemoryIsDeclaredLostAfterACrashAndNotReused) {
  {
    auto writer = Start();
    disk_.SetFull(true);
    writer->Submit(Epoch(1));
    Await([&] { return writer->GetStats().held == 1; });
    // The stop cannot write it either: what is left is what a crash leaves.
  }
  disk_.SetFull(false);
  auto spool = Open(disk_);
  EXPECT_EQ(spool->next_sequence(), 2u);
  ASSERT_EQ(spool->lost().size(), 1u);
  EXPECT_EQ(spool->lost()[0].reason(), v1::Lost::CRASHED);
}

TEST_F(DiskWriterTest, AHungDiskNeverBlocksTheCutAndTheOverflowIsDeclaredLost) {
  auto writer = Start(/*max_waiting=*/4);
  disk_.SetHangs(true);
  writer->Submit(Epoch(1));
  disk_.AwaitHanging();
  for (uint64_t i = 2; i <= 9; ++i)
    writer->Submit(Epoch(i));  // returns although nothing is written
  EXPECT_EQ(writer->GetStats().lost_in_memory, 4u);
  EXPECT_EQ(writer->GetStats().waiting, 4u);
  disk_.SetHangs(false);
  writer->Stop();
  auto spool = Open(disk_);
  ASSERT_EQ(spool->lost().size(), 1u);
  EXPECT_EQ(spool->lost()[0].reason(), v1::Lost::MEMORY_FULL);
  EXPECT_EQ(spool->lost()[0].first_sequence(), 2u);
  EXPECT_EQ(spool->lost()[0].last_sequence(), 5u);
  EXPECT_EQ(spool->lost()[0].start_unix_ns(), MakeTestBody(2).epoch().start_unix_ns());
  EXPECT_EQ(spool->lost()[0].end_unix_ns(), MakeTestBody(5).epoch().end_unix_ns());
  EXPECT_EQ(spool->records().size(), 5u);
  EXPECT_EQ(spool->next_sequence(), 10u);
}

TEST_F(DiskWriterTest, WhileTheDiskHangsItIsSaidWhereForHowLongAndHowManyEpochsWait) {
  auto writer = Start();
  disk_.SetHangs(true);
  writer->Submit(Epoch(1));
  disk_.AwaitHanging();
  mono_s_ += 10;
  writer->Submit(Epoch(2));
  EXPECT_EQ(writer->GetStats().problem, "") << "a disk with much to do is no trouble yet";
  mono_s_ += 27;
  writer->Submit(Epoch(3));
  const DiskWriter::Stats stats = writer->GetStats();
  EXPECT_EQ(stats.problem.find("spool: write in " + Directory() +
                               ": under way for 37 s, the disk hangs; 3 epochs wait in memory"),
            0u)
      << stats.problem;
  EXPECT_EQ(stats.hung_s, 37u);
  EXPECT_EQ(stats.waiting, 3u) << "the one being written is in memory, too";
  disk_.SetHangs(false);
  Await([&] { return writer->GetStats().records == 3 && writer->GetStats().waiting == 0; });
  EXPECT_EQ(writer->GetStats().problem, "");
  EXPECT_EQ(writer->GetStats().hung_s, 0u);
}

TEST_F(DiskWriterTest, EpochsThatWaitedLongForTheDiskAreMarkedUnspooledWhateverTheyWaitedFor) {
  auto writer = Start();
  disk_.SetHangs(true);
  writer->Submit(Epoch(1));
  disk_.AwaitHanging();
  writer->Submit(Epoch(2));
  mono_s_ += 11;
  writer->Submit(Epoch(3));
  disk_.SetHangs(false);
  Await([&] { return writer->GetStats().records == 3; });
  EXPECT_TRUE(BodyOf(*ReadRecord(Directory(), 1)).epoch().unspooled()) << "for its own write";
  EXPECT_TRUE(BodyOf(*ReadRecord(Directory(), 2)).epoch().unspooled()) << "for that of another";
  EXPECT_FALSE(BodyOf(*ReadRecord(Directory(), 3)).epoch().unspooled()) << "it hardly waited";
  uint64_t bytes = 0;
  for (const uint64_t sequence : {1, 2, 3}) {
    bytes += EncodeRecord(*ReadRecord(Directory(), sequence)).size();
  }
  EXPECT_EQ(writer->GetStats().bytes, bytes);
}

TEST_F(DiskWriterTest, APlannedStopLeavesNoPartialEpochBehind) {
  auto writer = Start();
  writer->SubmitJournal(MakeTestBody(1));
  Await([&] { return std::ifstream(Directory() + "/journal").good(); });
  writer->Submit(Epoch(1));
  writer->Stop();
  writer = Start();
  writer->Stop();
  EXPECT_EQ(Open(disk_)->records().size(), 1u);
}

}  // namespace
}  // namespace telltale::agent
