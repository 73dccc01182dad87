// A disk that fails: nothing acknowledged is lost, nothing is counted twice, and writing goes on
// once it can.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "proto/codec.h"
#include "storage/store.h"
#include "storage/verify.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/store_check.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::CheckBooks;
using telltale::testing::FaultFileSystem;
using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;
using telltale::testing::TempDir;
using ::testing::ElementsAre;

constexpr uint64_t kStart = 20'500 * kDayNs;

class FaultTest : public ::testing::Test {
 protected:
  FaultTest() { Open(); }
  ~FaultTest() override { files_->set_fault(FaultFileSystem::Fault::kNone); }

  void Open() {
    store_.reset();
    StoreOptions options;
    options.path = dir_.path() + "/store";
    options.env = env_.get();
    options.now_ns = [] { return kStart + kDayNs; };
    options.memory_bytes = 16 << 20;
    options.min_free_bytes = 0;
    absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(options);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    node_ = *store_->nodes().NumberOf("web-1");
    ASSERT_TRUE(store_->summaries().PutSchema(node_, proto::BuiltinSchema()).ok());
  }
  absl::StatusOr<std::vector<Outcome>> Put(uint64_t sequence) {
    const MadeSummary made = maker_.Make(sequence, kStart + sequence * 60 * kSecondNs);
    const Incoming item{node_, &made.summary, &made.body, true};
    absl::StatusOr<std::vector<Outcome>> outcomes = store_->summaries().PutBatch({&item, 1});
    if (outcomes.ok()) acked_.insert(sequence);
    return outcomes;
  }
  // As an agent does. The fault may have met RocksDB's own work after a commit that went well: then
  // the first write that follows is the one refused.
  absl::Status Insist(uint64_t sequence) {
    absl::Status status = Put(sequence).status();
    for (int attempt = 0; attempt < 2 && !status.ok(); ++attempt) status = Put(sequence).status();
    return status;
  }

  TempDir dir_;
  std::shared_ptr<FaultFileSystem> files_ =
      std::make_shared<FaultFileSystem>(dir_.path() + "/keep");
  std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(files_);
  std::unique_ptr<Store> store_;
  uint32_t node_ = 0;
  SyntheticNode maker_{"web-1", 1};
  std::set<uint64_t> acked_;
};

TEST_F(FaultTest, AFullDiskRefusesClearlyAndWorksAgainWhenThereIsSpace) {
  ASSERT_TRUE(Put(1).ok());
  files_->set_fault(FaultFileSystem::Fault::kNoSpace);
  EXPECT_EQ(Put(2).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Put(2).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CheckBooks(*store_, node_, {1}), "") << "reading goes on";
  files_->set_fault(FaultFileSystem::Fault::kNone);
  absl::StatusOr<std::vector<Outcome>> again = Put(2);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(*again, ElementsAre(Outcome::kStored));
  EXPECT_EQ(CheckBooks(*store_, node_, acked_), "");
  Open();
  EXPECT_EQ(CheckBooks(*store_, node_, acked_), "");
}

TEST_F(FaultTest, ASyncAfterAFailedWriteIsRefusedLikeTheWrite) {
  ASSERT_TRUE(Put(1).ok());
  files_->set_fault(FaultFileSystem::Fault::kNoSpace);
  EXPECT_EQ(Put(2).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->derived().Sync().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Writable().code(), absl::StatusCode::kResourceExhausted);
  files_->set_fault(FaultFileSystem::Fault::kNone);
  ASSERT_TRUE(Put(2).ok());
  EXPECT_TRUE(store_->derived().Sync().ok());
  EXPECT_TRUE(store_->Writable().ok());
  EXPECT_EQ(CheckBooks(*store_, node_, acked_), "");
}

TEST_F(FaultTest, AStoreThatCannotWriteRefusesABatchBeforeItLooksAtIt) {
  ASSERT_TRUE(Put(1).ok());
  MadeSummary broken = maker_.Make(2, kStart);
  broken.summary.mutable_identity()->set_incarnation("short");
  const Incoming item{node_, &broken.summary, &broken.body, true};
  const auto put_broken = [&] { return store_->summaries().PutBatch({&item, 1}).status().code(); };
  files_->set_fault(FaultFileSystem::Fault::kNoSpace);
  EXPECT_EQ(put_broken(), absl::StatusCode::kInvalidArgument) << "no write has failed yet";
  EXPECT_EQ(Put(2).status().code(), absl::StatusCode::kResourceExhausted);
  const uint64_t number = store_->summaries().IngestNumber();
  EXPECT_EQ(put_broken(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Put(2).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->summaries().IngestNumber(), number);
  files_->set_fault(FaultFileSystem::Fault::kNone);
  EXPECT_EQ(put_broken(), absl::StatusCode::kInvalidArgument) << "asking made it write again";
  EXPECT_TRUE(Put(2).ok());
}

TEST_F(FaultTest, AnAckWaitsForTheDiskOnce) {
  ASSERT_TRUE(Put(1).ok());
  const uint64_t before = files_->syncs();
  ASSERT_TRUE(Put(2).ok());
  EXPECT_EQ(files_->syncs() - before, 1);
}

TEST_F(FaultTest, AWriteErrorIsNotAFullDisk) {
  files_->set_fault(FaultFileSystem::Fault::kIoError);
  EXPECT_EQ(Put(1).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FaultTest, ErrorsAtAnyWriteLoseNothingAcknowledgedAndCountNothingTwice) {
  for (uint64_t every : {17, 41, 83}) {
    files_->set_fail_every(every);
    for (uint64_t i = 0; i < 10; ++i) {
      const uint64_t sequence = every * 100 + i;
      for (int attempt = 0; attempt < 4 && !Put(sequence).ok(); ++attempt) {
      }
    }
    files_->set_fail_every(0);
    EXPECT_EQ(CheckBooks(*store_, node_, acked_), "") << "every " << every;
    Open();
    EXPECT_EQ(CheckBooks(*store_, node_, acked_), "") << "reopened, every " << every;
  }
  EXPECT_GT(acked_.size(), 3u) << "it went on after errors";
}

// A commit that failed may come back when the database is opened anew: it must not count beside the
// retry.
TEST_F(FaultTest, WhatAFailedCommitLeftIsTakenBack) {
  ASSERT_TRUE(Put(1).ok());
  for (uint64_t nth = 1; nth <= 8; ++nth) {
    const uint64_t sequence = 10 * nth;
    Open();  // with nothing in memory a failed write makes it open the database anew
    files_->set_fail_every(nth);
    const bool refused = !Put(sequence).ok();
    files_->set_fail_every(0);
    ASSERT_EQ(Insist(sequence + 1), absl::OkStatus()) << "another epoch of the node comes first";
    if (refused) {
      ASSERT_EQ(Insist(sequence), absl::OkStatus());
    }
    const absl::StatusOr<VerifyReport> report = Verify(*store_, {});
    ASSERT_TRUE(report.ok()) << report.status();
    for (const VerifyFault& fault : report->faults) {
      ADD_FAILURE() << "operation " << nth << ": " << fault.place << ": " << fault.what;
    }
    EXPECT_EQ(CheckBooks(*store_, node_, acked_), "");
  }
}

TEST_F(FaultTest, ADiskThatIsFullBeforeTheFirstWriteIsWrittenToOnceThereIsSpace) {
  Open();  // nothing in memory
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    files_->set_fault(FaultFileSystem::Fault::kNoSpace);
    EXPECT_EQ(Put(sequence).status().code(), absl::StatusCode::kResourceExhausted);
    files_->set_fault(FaultFileSystem::Fault::kNone);
    ASSERT_TRUE(Put(sequence).ok());
    Open();
  }
  EXPECT_EQ(CheckBooks(*store_, node_, acked_), "");
}

TEST_F(FaultTest, APowerCutForgetsNothingThatWasAcknowledged) {
  for (int round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(Put(1 + round * 10 + i).ok());
    // Something unsynced is on its way when the power goes.
    v1::Names names;
    names.set_build_id("build");
    names.add_offset(static_cast<uint64_t>(round));
    names.add_name(std::string(400, 'n'));
    ASSERT_TRUE(store_->summaries().PutNames(node_, names).ok());
    files_->set_fault(FaultFileSystem::Fault::kIoError);
    store_.reset();
    files_->CutPower(static_cast<uint64_t>(round));
    files_->set_fault(FaultFileSystem::Fault::kNone);
    Open();
    EXPECT_EQ(CheckBooks(*store_, node_, acked_), "") << "round " << round;
    EXPECT_THAT(*Put(1 + round * 10), ElementsAre(Outcome::kRepeat));
  }
}

TEST_F(FaultTest, APowerCutAfterTheFirstAcknowledgementOfANewStoreLeavesTheStore) {
  ASSERT_TRUE(Put(1).ok());
  files_->set_fault(FaultFileSystem::Fault::kIoError);
  store_.reset();
  files_->CutPower(0);
  files_->set_fault(FaultFileSystem::Fault::kNone);
  Open();
  EXPECT_EQ(CheckBooks(*store_, node_, acked_), "");
}

TEST_F(FaultTest, ABlobThatWasPutOutlivesAPowerCutAndAFullDisk) {
  BlobInfo info;
  info.owner = "node/web-1";
  info.kind = "recording";
  info.expires_ns = UINT64_MAX;
  const std::string content(2'500'000, 'b');
  ASSERT_TRUE(store_->blobs().Put(info, content, "node/web-1").ok());
  BlobInfo other = info;
  other.id.fill(1);
  files_->set_fault(FaultFileSystem::Fault::kNoSpace);
  EXPECT_EQ(store_->blobs().Put(other, content, "node/web-1").code(),
            absl::StatusCode::kResourceExhausted);
  store_.reset();
  files_->CutPower(0);
  files_->set_fault(FaultFileSystem::Fault::kNone);
  Open();
  EXPECT_TRUE(*store_->blobs().Get(info.id, BlobRole::kOperator, "operator/ann") == content);
  EXPECT_EQ(store_->blobs().List()->size(), 1u);
  EXPECT_EQ(store_->blobs().Audit(10)->size(), 2u) << "of the put and of the read";
  EXPECT_TRUE(store_->blobs().Put(other, content, "node/web-1").ok());
}

// What the disk of these tests has after a power cut is what POSIX promises, and no more.
class DiskTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& text, bool sync) {
    ASSERT_TRUE(rocksdb::WriteStringToFile(env_.get(), text, Path(name), sync).ok());
  }
  std::string Read(const std::string& name) {
    std::string text;
    const bool there = rocksdb::ReadFileToString(env_.get(), Path(name), &text).ok();
    return there ? text : "(none)";
  }
  void SyncDirectory() {
    std::unique_ptr<rocksdb::Directory> directory;
    ASSERT_TRUE(env_->NewDirectory(dir_.path(), &directory).ok());
    ASSERT_TRUE(directory->Fsync().ok());
  }

  TempDir dir_;
  TempDir keep_;
  std::shared_ptr<FaultFileSystem> files_ = std::make_shared<FaultFileSystem>(keep_.path());
  std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(files_);
};

TEST_F(DiskTest, KeepsOfAFileWhatWasSyncedIfItsEntryWas) {
  Write("synced", "abc", true);
  Write("unsynced", "abc", false);
  SyncDirectory();
  Write("without entry", "abc", true);
  files_->CutPower(0);
  EXPECT_EQ(Read("synced"), "abc");
  EXPECT_EQ(Read("unsynced"), "");
  EXPECT_EQ(Read("without entry"), "(none)");
}

TEST_F(DiskTest, UndoesRenamesAndDeletionsTheDirectoryWasNotSyncedAfter) {
  Write("current", "old", true);
  Write("deleted", "old", true);
  SyncDirectory();
  Write("new", "new", true);
  ASSERT_TRUE(env_->RenameFile(Path("new"), Path("current")).ok());
  ASSERT_TRUE(env_->DeleteFile(Path("deleted")).ok());
  EXPECT_EQ(Read("current"), "new");
  files_->CutPower(0);
  EXPECT_EQ(Read("current"), "old");
  EXPECT_EQ(Read("deleted"), "old");
  EXPECT_EQ(Read("new"), "(none)");

  ASSERT_TRUE(env_->DeleteFile(Path("deleted")).ok());
  Write("new", "new", true);
  ASSERT_TRUE(env_->RenameFile(Path("new"), Path("current")).ok());
  SyncDirectory();
  files_->CutPower(0);
  EXPECT_EQ(Read("current"), "new");
  EXPECT_EQ(Read("deleted"), "(none)");
}

TEST_F(DiskTest, MayKeepAnyPartOfWhatWasNotSynced) {
  std::set<size_t> lengths;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Write("file", "", true);
    SyncDirectory();
    std::unique_ptr<rocksdb::WritableFile> file;
    ASSERT_TRUE(env_->NewWritableFile(Path("file"), &file, rocksdb::EnvOptions()).ok());
    ASSERT_TRUE(file->Append("0123456789").ok());
    SyncDirectory();
    ASSERT_TRUE(file->Close().ok());
    files_->CutPower(seed);
    lengths.insert(Read("file").size());
  }
  EXPECT_GT(lengths.size(), 4u);
}

}  // namespace
}  // namespace telltale::storage
