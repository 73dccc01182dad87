// What the spool promises, also across kills at any step and damage on the disk.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "agent/spool/disk_writer.h"
#include "agent/spool/journal.h"
#include "agent/spool/spool.h"
#include "agent/spool/spool_reader.h"
#include "proto/codec.h"
#include "tests/unit/agentrt_support.h"

namespace telltale::agent {
namespace {

class SpoolTest : public ::testing::Test {
 protected:
  Spool::Options Options(uint64_t max_bytes = 64 << 20) const {
    return {dir_.path() + "/spool", max_bytes, 16,
            [](size_t bytes) { return std::string(bytes, '\x5a'); }};
  }
  std::unique_ptr<Spool> Open(FileSystem& files, uint64_t max_bytes = 64 << 20) const {
    auto spool = Spool::Open(Options(max_bytes), files);
    EXPECT_TRUE(spool.ok()) << spool.status();
    return spool.ok() ? *std::move(spool) : nullptr;
  }
  std::string RecordPath(uint64_t sequence) const {
    return dir_.path() + "/spool/" + RecordFileName(sequence);
  }

  const TempDir dir_;
  PosixFileSystem files_;
};

TEST_F(SpoolTest, FindsWhatWasAppendedAfterARestart) {
  {
    auto spool = Open(files_);
    for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(spool->Append(MakeTestRecord(i)).ok());
  }
  auto spool = Open(files_);
  EXPECT_EQ(spool->records().size(), 3u);
  EXPECT_EQ(spool->next_sequence(), 4u);
  EXPECT_EQ(spool->incarnation(), std::string(16, '\x5a'));
  const auto record = ReadRecord(Options().directory, 2);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->summary.SerializeAsString(), MakeTestRecord(2).summary.SerializeAsString());
  EXPECT_EQ(record->names.size(), 1u);
}

v1::Names NamesOf(uint64_t bytes) {
  v1::Names names;
  names.set_build_id("build-id");
  for (uint64_t offset = 0; offset * 512 < bytes; ++offset) {
    names.add_offset(offset);
    names.add_name(std::string(512, 'f'));
  }
  return names;
}

TEST_F(SpoolTest, KeepsAnEpochWithoutTheNamesThatNoRecordCouldHold) {
  const v1::Names small = NamesOf(1'024), fits = NamesOf(3 << 20), over = NamesOf(5 << 20);
  NoObserver observer;
  DiskWriter writer({kTestNode, proto::BuiltinSchema()}, Open(files_),
                    Journal(Options().directory, files_), observer);
  writer.Start();
  // The second `fits` would take the record over its limit, `over` its own chunk.
  writer.Submit({MakeTestBody(1), {}, {over, fits, fits, small}});
  writer.Stop();
  const auto record = ReadRecord(Options().directory, 1);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->names.size(), 2u);
  EXPECT_EQ(record->names[0].name_size(), fits.name_size());
  EXPECT_EQ(record->names[1].name_size(), small.name_size());
  EXPECT_EQ(writer.GetStats().names_left_out,
            static_cast<uint64_t>(over.name_size() + fits.name_size()));
}

TEST_F(SpoolTest, KeepsItsIncarnationAndNeverReusesASequenceWhenEverythingIsSettled) {
  {
    auto spool = Open(files_);
    for (uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(spool->Append(MakeTestRecord(i)).ok());
    for (uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(spool->Settle(i).ok());
    EXPECT_EQ(spool->bytes(), 0u);
  }
  EXPECT_EQ(Open(files_)->next_sequence(), 6u);
}

TEST_F(SpoolTest, RefusesASequenceThatWasUsed) {
  auto spool = Open(files_);
  ASSERT_TRUE(spool->Append(MakeTestRecord(1)).ok());
  EXPECT_FALSE(spool->Append(MakeTestRecord(1)).ok());
  EXPECT_FALSE(spool->Append(MakeTestRecord(3)).ok());
}

TEST_F(SpoolTest, DropsTheOldestWhenFullAndDeclaresItUntilItIsRecorded) {
  const uint64_t one = EncodeRecord(MakeTestRecord(1)).size();
  {
    auto spool = Open(files_, 3 * one + one / 2);
    for (uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(spool->Append(MakeTestRecord(i)).ok());
    EXPECT_EQ(spool->records().begin()->first, 3u);
    EXPECT_LE(spool->bytes(), 3 * one + one / 2);
  }
  auto spool = Open(files_, 4 * one);
  ASSERT_EQ(spool->lost().size(), 1u);
  const v1::Lost lost = spool->lost().front();
  EXPECT_EQ(lost.first_sequence(), 1u);
  EXPECT_EQ(lost.last_sequence(), 2u);
  EXPECT_EQ(lost.reason(), v1::Lost::SPOOL_FULL);
  EXPECT_EQ(lost.start_unix_ns(), MakeTestRecord(1).summary.start_unix_ns());
  EXPECT_EQ(lost.end_unix_ns(), MakeTestRecord(2).summary.end_unix_ns());
  ASSERT_TRUE(spool->LostRecorded(1, 2).ok());
  EXPECT_TRUE(Open(files_)->lost().empty());
}

TEST_F(SpoolTest, DeclaresADamagedRecordLostAndKeepsTheOthers) {
  {
    auto spool = Open(files_);
    for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(spool->Append(MakeTestRecord(i)).ok());
  }
  FlipByte(RecordPath(2), 60);
  auto spool = Open(files_);
  EXPECT_EQ(spool->records().size(), 2u);
  ASSERT_EQ(spool->lost().size(), 1u);
  EXPECT_EQ(spool->lost()[0].first_sequence(), 2u);
  EXPECT_EQ(spool->lost()[0].reason(), v1::Lost::SPOOL_CORRUPT);
  EXPECT_EQ(spool->next_sequence(), 4u);
}

TEST_F(SpoolTest, ATruncatedRecordIsNeverReadAsAWholeOne) {
  const std::string bytes = EncodeRecord(MakeTestRecord(7));
  ASSERT_TRUE(DecodeRecord(bytes).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeRecord(std::string_view(bytes).substr(0, length)).ok()) << length;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_FALSE(DecodeRecord(damaged).ok()) << at;
  }
}

TEST_F(SpoolTest, OneDamagedStateSlotCostsNothing) {
  {
    auto spool = Open(files_);
    for (uint64_t i = 1; i <= 2; ++i) ASSERT_TRUE(spool->Append(MakeTestRecord(i)).ok());
    for (uint64_t i = 1; i <= 2; ++i) ASSERT_TRUE(spool->Settle(i).ok());
  }
  for (const char* slot : {"/spool/state.0", "/spool/state.1"}) {
    const std::string path = dir_.path() + slot;
    const std::string saved = Slurp(path);
    FlipByte(path, 40);
    auto spool = Spool::Open(Options(), files_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    EXPECT_EQ((*spool)->next_sequence(), 3u);
    Spill(path, saved);
  }
}

TEST_F(SpoolTest, RefusesToGuessWhenBothStateSlotsAreDamaged) {
  Open(files_);
  FlipByte(dir_.path() + "/spool/state.0", 40);
  FlipByte(dir_.path() + "/spool/state.1", 40);
  const auto spool = Spool::Open(Options(), files_);
  ASSERT_FALSE(spool.ok());
  EXPECT_NE(spool.status().message().find("move the directory away"), absl::string_view::npos);
}

TEST_F(SpoolTest, SetsRefusedRecordsAsideAndKeepsTheLastSixteen) {
  auto spool = Open(files_);
  for (uint64_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(spool->Append(MakeTestRecord(i)).ok());
    ASSERT_TRUE(spool->SetAside(i, "body: field 7\nis wrong").ok());
  }
  const auto aside = files_.List(dir_.path() + "/spool/refused");
  ASSERT_TRUE(aside.ok());
  EXPECT_EQ(aside->size(), 16u);
  EXPECT_TRUE(std::filesystem::exists(dir_.path() + "/spool/refused/" + RecordFileName(20)));
  ASSERT_EQ(spool->lost().size(), 1u);
  EXPECT_EQ(spool->lost()[0].reason(), v1::Lost::REFUSED);
  EXPECT_EQ(spool->lost()[0].last_sequence(), 20u);
  EXPECT_EQ(Open(files_)->lost().size(),
            1u);  // the line break in the reason did not tear the state
}

TEST_F(SpoolTest, ALostRangeThatGrewIsKeptWhereItWasNotRecorded) {
  SpoolState state;
  v1::Lost lost;
  lost.set_first_sequence(4);
  lost.set_last_sequence(9);
  lost.set_reason(v1::Lost::SPOOL_FULL);
  state.AddLost(lost);
  state.RemoveLost(4, 6);
  ASSERT_EQ(state.lost.size(), 1u);
  EXPECT_EQ(state.lost[0].first_sequence(), 7u);
  EXPECT_EQ(state.lost[0].last_sequence(), 9u);
}

// Stops the process at the n-th step that changes the disk; every second one half done.
class KilledFileSystem : public PosixFileSystem {
 public:
  explicit KilledFileSystem(int steps) : left_(steps) {}
  static constexpr int kKilled = 42;

  absl::Status Write(const std::string& path, std::string_view bytes) override {
    if (Last()) {
      PosixFileSystem::Write(path, bytes.substr(0, bytes.size() / 2)).IgnoreError();
      _exit(kKilled);
    }
    return PosixFileSystem::Write(path, bytes);
  }
  absl::Status Append(const std::string& path, std::string_view bytes) override {
    if (Last()) {
      PosixFileSystem::Append(path, bytes.substr(0, bytes.size() / 2)).IgnoreError();
      _exit(kKilled);
    }
    return PosixFileSystem::Append(path, bytes);
  }
  absl::Status Overwrite(const std::string& path, std::string_view bytes) override {
    if (Last()) {
      PosixFileSystem::Overwrite(path, bytes.substr(0, 50)).IgnoreError();
      _exit(kKilled);
    }
    return PosixFileSystem::Overwrite(path, bytes);
  }
  absl::Status Sync(const std::string& path) override {
    if (Last()) _exit(kKilled);
    return PosixFileSystem::Sync(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (Last()) _exit(kKilled);
    return PosixFileSystem::Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override {
    if (Last()) _exit(kKilled);
    return PosixFileSystem::Remove(path);
  }

 private:
  bool Last() { return left_-- == 0; }
  int left_;
};

// What the child tells about itself before it is killed: which sequences went out, which were
// acknowledged by Append. A line at a time, unbuffered.
void Tell(const std::string& path, const std::string& line) {
  std::ofstream(path, std::ios::app) << line << "\n" << std::flush;
}

TEST_F(SpoolTest, SurvivesAKillAtEveryStepWithoutLosingOrReusingASequence) {
  const uint64_t one = EncodeRecord(MakeTestRecord(1)).size();
  const std::string told = dir_.path() + "/told";
  const auto child = [&](int step) {
    KilledFileSystem files(step);
    auto spool = Spool::Open(Options(4 * one), files);
    if (!spool.ok()) _exit(1);
    for (int i = 0; i < 6; ++i) {
      const uint64_t sequence = (*spool)->next_sequence();
      Tell(told, "used " + std::to_string(sequence));
      if (!(*spool)->Append(MakeTestRecord(sequence)).ok()) _exit(2);
      Tell(told, "spooled " + std::to_string(sequence));
      if (i == 2) {
        Tell(told, "settled " + std::to_string(sequence));
        if (!(*spool)->Settle(sequence).ok()) _exit(3);
      }
      if (i == 3) {
        if (!(*spool)->SetAside(sequence, "not good").ok()) _exit(4);
      }
    }
    _exit(0);
  };
  bool ended = false;
  for (int step = 0; !ended; ++step) {
    ASSERT_LT(step, 300);
    std::filesystem::remove_all(Options().directory);
    std::filesystem::remove(told);
    const pid_t pid = fork();
    if (pid == 0) child(step);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == KilledFileSystem::kKilled)
        << "step " << step << " ended with " << WEXITSTATUS(status);
    ended = WEXITSTATUS(status) == 0;

    std::set<uint64_t> spooled, settled;
    std::ifstream lines(told);
    std::string word;
    for (uint64_t sequence = 0; lines >> word >> sequence;) {
      if (word == "spooled") spooled.insert(sequence);
      if (word == "settled") settled.insert(sequence);
    }
    auto spool = Open(files_, 4 * one);
    ASSERT_NE(spool, nullptr) << "step " << step;
    for (const uint64_t sequence : spooled) {
      const bool lost =
          std::any_of(spool->lost().begin(), spool->lost().end(), [&](const v1::Lost& range) {
            return range.first_sequence() <= sequence && sequence <= range.last_sequence();
          });
      EXPECT_TRUE(spool->records().contains(sequence) || lost || settled.contains(sequence))
          << "step " << step << ": sequence " << sequence << " vanished";
      EXPECT_FALSE(spool->records().contains(sequence) && lost)
          << "step " << step << ": sequence " << sequence << " is both there and lost";
      EXPECT_GT(spool->next_sequence(), sequence) << "step " << step;
    }
    // It goes on working.
    EXPECT_TRUE(spool->Append(MakeTestRecord(spool->next_sequence())).ok()) << "step " << step;
  }
}

TEST_F(SpoolTest, WhatIsJournalledAfterAFullDiskCanBeRead) {
  class FullOnce : public PosixFileSystem {
   public:
    absl::Status Append(const std::string& path, std::string_view bytes) override {
      if (!std::exchange(full_, false)) return PosixFileSystem::Append(path, bytes);
      PosixFileSystem::Append(path, bytes.substr(0, bytes.size() / 2)).IgnoreError();
      return absl::ResourceExhaustedError("no space left on device");
    }

   private:
    bool full_ = true;
  } files;
  ASSERT_TRUE(Spool::Open(Options(), files_).ok());
  Journal journal(Options().directory, files);
  v1::SummaryBody last = MakeTestBody(3);
  ASSERT_TRUE(journal.Append(proto::BuiltinSchema(), 3, MakeTestBody(3)).ok());
  ASSERT_FALSE(journal.Append(proto::BuiltinSchema(), 3, MakeTestBody(3)).ok());
  last.mutable_epoch()->set_end_unix_ns(last.epoch().end_unix_ns() + 1);
  ASSERT_TRUE(journal.Append(proto::BuiltinSchema(), 3, last).ok());
  const auto left = Journal(Options().directory, files).Load();
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->body.epoch().end_unix_ns(), last.epoch().end_unix_ns());
}

TEST_F(SpoolTest, ACrashedEpochBecomesOnePartialEpochExactlyOnceWhereverTheRestartIsKilled) {
  for (int step = 0, done = 0; done < 1; ++step) {
    ASSERT_LT(step, 100);
    std::filesystem::remove_all(Options().directory);
    {
      auto spool = Open(files_);
      ASSERT_TRUE(spool->Append(MakeTestRecord(1)).ok());
      Journal journal(Options().directory, files_);
      // The epoch before (sequence 2) was cut, but a hung disk never took it.
      ASSERT_TRUE(journal.Append(proto::BuiltinSchema(), 3, MakeTestBody(3)).ok());
      ASSERT_TRUE(journal.Append(proto::BuiltinSchema(), 3, MakeTestBody(3)).ok());
    }
    const auto restart = [&](FileSystem& files) {
      auto spool = Spool::Open(Options(), files);
      if (!spool.ok()) _exit(1);
      NoObserver observer;
      DiskWriter writer({kTestNode, proto::BuiltinSchema()}, *std::move(spool),
                        Journal(Options().directory, files), observer);
      writer.Start();
      writer.Stop();
    };
    const pid_t pid = fork();
    if (pid == 0) {
      KilledFileSystem files(step);
      restart(files);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == 0) ++done;
    restart(files_);
    restart(files_);
    auto spool = Open(files_);
    EXPECT_EQ(spool->records().size(), 2u) << "step " << step;
    EXPECT_EQ(spool->next_sequence(), 4u) << "step " << step;
    ASSERT_EQ(spool->lost().size(), 1u) << "step " << step;
    EXPECT_EQ(spool->lost()[0].first_sequence(), 2u);
    EXPECT_EQ(spool->lost()[0].reason(), v1::Lost::CRASHED);
    const auto record = ReadRecord(Options().directory, 3);
    ASSERT_TRUE(record.ok()) << record.status();
    const auto decoded = proto::DecodeSummary(record->summary, record->schema);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->body->epoch().kind(), v1::EPOCH_KIND_PARTIAL);
  }
}

}  // namespace
}  // namespace telltale::agent
