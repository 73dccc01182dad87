// What every BlobStore must do, run on the catalog in memory and on RocksDB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/blob_rows.h"
#include "storage/catalog_blobs.h"
#include "storage/keys.h"
#include "tests/support/storage_engines.h"

namespace telltale::storage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr BlobLimits kLimits = {
    .blob_bytes = 3 * kBlobPieceBytes, .blobs = 8, .bytes = 9 * kBlobPieceBytes};
constexpr uint64_t kStart = 20'500 * kDayNs;

// Fails every commit behind the first `left`, as of a process that dies there.
class EndingCatalog : public Catalog {
 public:
  EndingCatalog(Catalog* below, int left) : below_(below), left_(left) {}
  std::unique_ptr<Transaction> Begin() override {
    return std::make_unique<Ending>(this, below_->Begin());
  }

 private:
  struct Ending : Transaction {
    Ending(EndingCatalog* catalog, std::unique_ptr<Transaction> below)
        : catalog_(catalog), below_(std::move(below)) {}
    absl::StatusOr<std::string> Get(std::string_view key) const override {
      return below_->Get(key);
    }
    absl::Status Scan(std::string_view from, std::string_view to,
                      const CatalogVisitor& visit) const override {
      return below_->Scan(from, to, visit);
    }
    void Put(std::string_view key, std::string_view value) override { below_->Put(key, value); }
    void Delete(std::string_view key) override { below_->Delete(key); }
    absl::Status Commit(Durability durability) override {
      if (catalog_->left_-- <= 0) return absl::UnavailableError("ended");
      return below_->Commit(durability);
    }
    EndingCatalog* const catalog_;
    const std::unique_ptr<Transaction> below_;
  };
  Catalog* const below_;
  int left_;
};

// No two stretches of it are alike.
std::string Content(uint64_t bytes) {
  std::string content(bytes, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * i >> 13 ^ i);
  return content;
}

class BlobConformanceTest : public ::testing::TestWithParam<const char*> {
 protected:
  BlobConformanceTest() : engine_(testing::MakeEngine(GetParam())) { Open(); }
  // As after a restart: nothing is remembered but what is stored.
  void Open() {
    blobs_ =
        std::make_unique<CatalogBlobs>(CatalogBlobsOptions{.catalog = &engine_->catalog(),
                                                           .now_ns = [this] { return ++now_ns_; },
                                                           .admit = [this] { return space_; },
                                                           .limits = kLimits});
  }
  static BlobInfo Info(uint8_t number) {
    BlobInfo info;
    info.id.fill(number);
    info.owner = "node/web-1";
    info.kind = "recording";
    info.role = BlobRole::kViewer;
    info.expires_ns = kStart + kDayNs;
    return info;
  }
  static BlobId Id(uint8_t number) { return Info(number).id; }
  // Who did what with which, newest first.
  std::vector<std::string> Audited(size_t limit = 100) {
    std::vector<std::string> lines;
    const auto entries = blobs_->Audit(limit);
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const BlobAudit& entry : *entries) {
      lines.push_back(entry.who + " " + entry.what + " " + std::to_string(entry.id[0]));
    }
    return lines;
  }
  std::vector<uint8_t> Listed() {
    std::vector<uint8_t> numbers;
    const auto list = blobs_->List();
    EXPECT_TRUE(list.ok()) << list.status();
    for (const BlobInfo& info : *list) numbers.push_back(info.id[0]);
    return numbers;
  }
  // Rows of a table of the catalog.
  size_t Rows(CatalogTable table) {
    size_t rows = 0;
    EXPECT_TRUE(engine_->catalog()
                    .Begin()
                    ->Scan(TablePrefix(table), PrefixEnd(TablePrefix(table)),
                           [&rows](std::string_view, std::string_view) { return ++rows > 0; })
                    .ok());
    return rows;
  }
  void Write(const std::string& key, const std::string& value) {
    auto transaction = engine_->catalog().Begin();
    transaction->Put(key, value);
    ASSERT_TRUE(transaction->Commit(Durability::kDurable).ok());
  }
  static void ExpectRefused(const absl::Status& status, absl::StatusCode code,
                            const ::testing::Matcher<std::string>& says) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), says);
  }

  std::atomic<uint64_t> now_ns_ = kStart;
  absl::Status space_;
  std::unique_ptr<testing::StorageEngine> engine_;
  std::unique_ptr<CatalogBlobs> blobs_;
};

TEST_P(BlobConformanceTest, ReadsBackWhatWasPut) {
  const std::string two_and_a_bit = Content(2 * kBlobPieceBytes + 1);
  const std::string whole_pieces = Content(2 * kBlobPieceBytes);
  ASSERT_TRUE(blobs_->Put(Info(1), two_and_a_bit, "node/web-1").ok());
  ASSERT_TRUE(blobs_->Put(Info(4), whole_pieces, "node/web-1").ok());
  ASSERT_TRUE(blobs_->Put(Info(2), "", "node/web-1").ok());
  Open();
  EXPECT_TRUE(*blobs_->Get(Id(1), BlobRole::kViewer, "viewer/bo") == two_and_a_bit);
  EXPECT_TRUE(*blobs_->Get(Id(4), BlobRole::kViewer, "viewer/bo") == whole_pieces);
  EXPECT_EQ(*blobs_->Get(Id(2), BlobRole::kViewer, "viewer/bo"), "");
  EXPECT_TRUE(absl::IsNotFound(blobs_->Get(Id(3), BlobRole::kOperator, "operator/ann").status()));
}

TEST_P(BlobConformanceTest, TheListSaysWhatIsThere) {
  EXPECT_THAT(Listed(), IsEmpty());
  BlobInfo info = Info(2);
  info.role = BlobRole::kOperator;
  info.bytes = 99;
  info.digest = 99;
  info.created_ns = 99;
  ASSERT_TRUE(blobs_->Put(info, "content", "operator/ann").ok());
  ASSERT_TRUE(blobs_->Put(Info(1), "other", "node/web-1").ok());
  const auto list = blobs_->List();
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].id, Id(1));
  EXPECT_EQ((*list)[1].owner, "node/web-1");
  EXPECT_EQ((*list)[1].kind, "recording");
  EXPECT_EQ((*list)[1].role, BlobRole::kOperator);
  EXPECT_EQ((*list)[1].expires_ns, info.expires_ns);
  EXPECT_EQ((*list)[1].bytes, 7u) << "measured, not believed";
  EXPECT_EQ((*list)[1].digest, 0x55f2b31a6acfaa64u) << "xxh3-64 of 'content'";
  EXPECT_GT((*list)[1].created_ns, kStart);
}

TEST_P(BlobConformanceTest, AnIdKeepsItsContent) {
  ASSERT_TRUE(blobs_->Put(Info(1), "content", "node/web-1").ok());
  ExpectRefused(blobs_->Put(Info(1), "CONTENT", "node/web-2"), absl::StatusCode::kAlreadyExists,
                HasSubstr("other content"));
  EXPECT_EQ(*blobs_->Get(Id(1), BlobRole::kViewer, "viewer/bo"), "content");
  EXPECT_THAT(Audited(),
              ElementsAre("viewer/bo get 1", "node/web-2 refused 1", "node/web-1 put 1"));
}

TEST_P(BlobConformanceTest, TheSameContentAgainIsFineAndOpensItToNobodyElse) {
  BlobInfo info = Info(1);
  info.role = BlobRole::kOperator;
  ASSERT_TRUE(blobs_->Put(info, "content", "node/web-1").ok());
  info.role = BlobRole::kViewer;
  info.expires_ns += kDayNs;
  EXPECT_TRUE(blobs_->Put(info, "content", "node/web-1").ok());
  const auto list = blobs_->List();
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ((*list)[0].role, BlobRole::kOperator);
  EXPECT_EQ((*list)[0].expires_ns, Info(1).expires_ns);
}

TEST_P(BlobConformanceTest, WhoMayNotIsRefusedAndWrittenDown) {
  BlobInfo info = Info(1);
  info.role = BlobRole::kOperator;
  ASSERT_TRUE(blobs_->Put(info, "secret", "operator/ann").ok());
  ASSERT_TRUE(blobs_->Put(Info(2), "open", "operator/ann").ok());
  ExpectRefused(blobs_->Get(Id(1), BlobRole::kViewer, "viewer/bo").status(),
                absl::StatusCode::kPermissionDenied, HasSubstr("for operators"));
  ExpectRefused(blobs_->Get(Id(2), static_cast<BlobRole>(0), "nobody").status(),
                absl::StatusCode::kPermissionDenied, HasSubstr("operators"));
  EXPECT_EQ(*blobs_->Get(Id(1), BlobRole::kOperator, "operator/ann"), "secret");
  EXPECT_EQ(*blobs_->Get(Id(2), BlobRole::kOperator, "operator/ann"), "open");
  EXPECT_THAT(Audited(4), ElementsAre("operator/ann get 2", "operator/ann get 1",
                                      "nobody refused 2", "viewer/bo refused 1"));
}

TEST_P(BlobConformanceTest, WhatLostItsDigestIsNotHandedOut) {
  for (uint8_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(blobs_->Put(Info(number), "content", "node/web-1").ok());
  }
  Write(EncodeBlobPieceKey(Id(1), 0),
        "\x01"
        "CONTENT");
  Write(EncodeBlobPieceKey(Id(2), 0), "");
  auto transaction = engine_->catalog().Begin();
  transaction->Delete(EncodeBlobPieceKey(Id(3), 0));
  ASSERT_TRUE(transaction->Commit(Durability::kDurable).ok());
  for (uint8_t number = 1; number <= 3; ++number) {
    ExpectRefused(blobs_->Get(Id(number), BlobRole::kViewer, "viewer/bo").status(),
                  absl::StatusCode::kDataLoss, HasSubstr("content of"));
  }
}

TEST_P(BlobConformanceTest, PuttingTheSameContentAgainRepairsIt) {
  BlobInfo info = Info(1);
  info.role = BlobRole::kOperator;
  ASSERT_TRUE(blobs_->Put(info, "content", "node/web-1").ok());
  Write(EncodeBlobPieceKey(Id(1), 0),
        "\x01"
        "CONTENT");
  EXPECT_TRUE(absl::IsAlreadyExists(blobs_->Put(Info(1), "CONTENT", "node/web-1")));
  BlobInfo wider = Info(1);
  wider.role = BlobRole::kViewer;
  ASSERT_TRUE(blobs_->Put(wider, "content", "node/web-1").ok());
  EXPECT_EQ(*blobs_->Get(Id(1), BlobRole::kOperator, "operator/ann"), "content");
  EXPECT_TRUE(absl::IsPermissionDenied(blobs_->Get(Id(1), BlobRole::kViewer, "v").status()));
}

TEST_P(BlobConformanceTest, WhatEndedGoesWithItsContent) {
  BlobInfo late = Info(2);
  late.expires_ns = Info(1).expires_ns + 1;
  ASSERT_TRUE(blobs_->Put(Info(1), "one", "node/web-1").ok());
  ASSERT_TRUE(blobs_->Put(late, "two", "node/web-1").ok());
  ASSERT_TRUE(blobs_->Put(Info(3), "three", "node/web-1").ok());
  EXPECT_EQ(*blobs_->Expire(Info(1).expires_ns), 0u);
  EXPECT_EQ(*blobs_->Expire(late.expires_ns), 2u);
  EXPECT_EQ(*blobs_->Expire(late.expires_ns), 0u);
  EXPECT_THAT(Listed(), ElementsAre(2));
  EXPECT_EQ(Rows(CatalogTable::kBlobPieces), 1u);
  EXPECT_TRUE(absl::IsNotFound(blobs_->Get(Id(1), BlobRole::kViewer, "viewer/bo").status()));
  EXPECT_EQ(*blobs_->Get(Id(2), BlobRole::kViewer, "viewer/bo"), "two");
  EXPECT_THAT(Audited(3),
              ElementsAre("viewer/bo get 2", "collector expire 3", "collector expire 1"));
  EXPECT_TRUE(blobs_->Put(Info(1), "other", "node/web-1").ok()) << "its id is free again";
}

TEST_P(BlobConformanceTest, ADamagedRecordDoesNotKeepTheOthers) {
  ASSERT_TRUE(blobs_->Put(Info(1), "one", "node/web-1").ok());
  ASSERT_TRUE(blobs_->Put(Info(2), "two", "node/web-1").ok());
  Write(EncodeBlobKey(Id(1)), "\x01junk");
  EXPECT_TRUE(absl::IsDataLoss(blobs_->List().status()));
  EXPECT_TRUE(absl::IsDataLoss(blobs_->Expire(UINT64_MAX).status()));
  EXPECT_EQ(Rows(CatalogTable::kBlobPieces), 1u);
  EXPECT_TRUE(absl::IsNotFound(blobs_->Get(Id(2), BlobRole::kViewer, "viewer/bo").status()));
}

TEST_P(BlobConformanceTest, AuditTellsTheNewestFirstAndWhen) {
  ASSERT_TRUE(blobs_->Put(Info(1), "one", "node/web-1").ok());
  const uint64_t between_ns = ++now_ns_;
  Open();  // the numbers go on
  ASSERT_TRUE(blobs_->Get(Id(1), BlobRole::kViewer, "viewer/bo").ok());
  EXPECT_THAT(Audited(), ElementsAre("viewer/bo get 1", "node/web-1 put 1"));
  EXPECT_THAT(Audited(1), ElementsAre("viewer/bo get 1"));
  EXPECT_THAT(Audited(0), IsEmpty());
  const auto entries = blobs_->Audit(2);
  EXPECT_GT((*entries)[0].time_ns, between_ns);
  EXPECT_LT((*entries)[1].time_ns, between_ns);
}

TEST_P(BlobConformanceTest, EntriesOfOneMomentAreAllKept) {
  const auto still = [this] {
    return std::make_unique<CatalogBlobs>(
        CatalogBlobsOptions{.catalog = &engine_->catalog(), .now_ns = [] { return kStart; }});
  };
  blobs_ = still();
  ASSERT_TRUE(blobs_->Put(Info(1), "one", "node/web-1").ok());
  ASSERT_TRUE(blobs_->Get(Id(1), BlobRole::kViewer, "viewer/a").ok());
  blobs_ = still();
  ASSERT_TRUE(blobs_->Get(Id(1), BlobRole::kViewer, "viewer/b").ok());
  EXPECT_THAT(Audited(), ElementsAre("viewer/b get 1", "viewer/a get 1", "node/web-1 put 1"));
}

TEST_P(BlobConformanceTest, RefusalsAreBoundedAndDoNotPushOutWhatWasDone) {
  BlobInfo info = Info(1);
  info.role = BlobRole::kOperator;
  ASSERT_TRUE(blobs_->Put(info, "secret", "operator/ann").ok());
  for (size_t i = 0; i < kKeptBlobRefusals + 3; ++i) {
    ASSERT_FALSE(blobs_->Get(Id(1), BlobRole::kViewer, "v" + std::to_string(i)).ok());
    if (i == kKeptBlobRefusals) Open();  // what is kept is known after a restart, too
  }
  EXPECT_EQ(Rows(CatalogTable::kBlobAudit), kKeptBlobRefusals + 1);
  const std::vector<std::string> lines = Audited(kKeptBlobRefusals + 1);
  EXPECT_EQ(lines.front(), "v" + std::to_string(kKeptBlobRefusals + 2) + " refused 1");
  EXPECT_EQ(lines[kKeptBlobRefusals - 1], "v3 refused 1");
  EXPECT_EQ(lines.back(), "operator/ann put 1");
}

TEST_P(BlobConformanceTest, WhatWasDoneIsBounded) {
  // Of a program that kept one more than is kept now.
  ASSERT_TRUE(blobs_->Put(Info(1), "one", "node/web-1").ok());
  std::string value;
  const std::string prefix = TablePrefix(CatalogTable::kBlobAudit);
  auto transaction = engine_->catalog().Begin();
  ASSERT_TRUE(transaction
                  ->Scan(prefix, PrefixEnd(prefix),
                         [&value](std::string_view, std::string_view found) {
                           value = std::string(found);
                           return true;
                         })
                  .ok());
  for (uint32_t i = 0; i < kKeptBlobAccesses; ++i) {
    transaction->Put(EncodeBlobAuditKey({kStart - 1, i}), value);
  }
  ASSERT_TRUE(transaction->Commit(Durability::kDurable).ok());
  Open();
  ASSERT_TRUE(blobs_->Get(Id(1), BlobRole::kViewer, "viewer/bo").ok());
  EXPECT_EQ(Rows(CatalogTable::kBlobAudit), kKeptBlobAccesses);
  EXPECT_THAT(Audited(2), ElementsAre("viewer/bo get 1", "node/web-1 put 1"));
}

TEST_P(BlobConformanceTest, EverythingThatIsGivenIsBounded) {
  const std::string longest(kMaxBlobText, 'x'), longer(kMaxBlobText + 1, 'x');
  BlobInfo info = Info(1);
  info.owner = longest;
  info.kind = longest;
  EXPECT_TRUE(blobs_->Put(info, std::string(kLimits.blob_bytes, 'x'), longest).ok());

  const auto refused = [this](const BlobInfo& given, const std::string& content,
                              const std::string& who, const ::testing::Matcher<std::string>& says) {
    ExpectRefused(blobs_->Put(given, content, who), absl::StatusCode::kInvalidArgument, says);
  };
  refused(Info(2), std::string(kLimits.blob_bytes + 1, 'x'), "who",
          AllOf(HasSubstr("3145729 bytes"), HasSubstr("at most 3145728"), HasSubstr("shorten")));
  for (const std::string& bad : {longer, std::string(), std::string("a\x1b[2J"),
                                 std::string("\xff"), std::string("a\0b", 3)}) {
    info = Info(2);
    info.owner = bad;
    refused(info, "", "who", AllOf(HasSubstr("owner"), HasSubstr("1 to 256")));
    info = Info(2);
    info.kind = bad;
    refused(info, "", "who", AllOf(HasSubstr("kind"), HasSubstr("1 to 256")));
    refused(Info(2), "", bad, AllOf(HasSubstr("who"), HasSubstr("1 to 256")));
    ExpectRefused(blobs_->Get(Id(1), BlobRole::kOperator, bad).status(),
                  absl::StatusCode::kInvalidArgument, HasSubstr("who"));
  }
  info = Info(2);
  info.role = static_cast<BlobRole>(3);
  refused(info, "", "who", HasSubstr("role 3, want 1"));
  info = Info(2);
  info.expires_ns = kStart;
  refused(info, "", "who", HasSubstr("an end after now"));
  EXPECT_THAT(Listed(), ElementsAre(1));
  EXPECT_EQ(Audited().size(), 1u);
}

TEST_P(BlobConformanceTest, AllTogetherAreBounded) {
  for (uint8_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(blobs_->Put(Info(number), std::string(kLimits.blob_bytes, 'x'), "who").ok());
  }
  ExpectRefused(blobs_->Put(Info(4), "x", "who"), absl::StatusCode::kResourceExhausted,
                AllOf(HasSubstr("of 1 bytes"), HasSubstr("9437184")));
  for (uint8_t number = 4; number <= 8; ++number) {
    ASSERT_TRUE(blobs_->Put(Info(number), "", "who").ok());
  }
  ExpectRefused(blobs_->Put(Info(9), "", "who"), absl::StatusCode::kResourceExhausted,
                AllOf(HasSubstr("there are 8"), HasSubstr("try again")));
  ASSERT_TRUE(blobs_->Expire(UINT64_MAX).ok());
  EXPECT_TRUE(blobs_->Put(Info(9), "x", "who").ok());
}

TEST_P(BlobConformanceTest, WithoutSpaceNothingIsTakenAndAllIsRead) {
  ASSERT_TRUE(blobs_->Put(Info(1), "one", "who").ok());
  space_ = absl::ResourceExhaustedError("5 MiB free");
  ExpectRefused(blobs_->Put(Info(2), "two", "who"), absl::StatusCode::kResourceExhausted,
                HasSubstr("5 MiB free"));
  EXPECT_TRUE(blobs_->Put(Info(1), "one", "who").ok()) << "takes no more space";
  EXPECT_EQ(*blobs_->Get(Id(1), BlobRole::kViewer, "who"), "one");
}

TEST_P(BlobConformanceTest, OfTwoAtOnceOneStands) {
  std::vector<absl::Status> put(4);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < put.size(); ++i) {
      threads.emplace_back([this, &put, i] {
        put[i] = blobs_->Put(Info(1), "content " + std::to_string(i), "who");
      });
    }
  }
  size_t stands = put.size();
  for (size_t i = 0; i < put.size(); ++i) {
    if (put[i].ok()) {
      EXPECT_EQ(stands, put.size()) << "two were taken";
      stands = i;
    } else {
      EXPECT_TRUE(absl::IsAlreadyExists(put[i])) << put[i];
    }
  }
  EXPECT_EQ(*blobs_->Get(Id(1), BlobRole::kViewer, "who"), "content " + std::to_string(stands));
  EXPECT_EQ(Audited().size(), put.size() + 1);
}

TEST_P(BlobConformanceTest, APutThatEndedHalfWayIsNoBlobAndIsTakenAway) {
  const std::string content = Content(2 * kBlobPieceBytes + 1);  // four commits: a mark, 3 pieces
  for (int commits = 0; commits < 4; ++commits) {
    EndingCatalog ending(&engine_->catalog(), commits);
    CatalogBlobs dying({.catalog = &ending, .now_ns = [] { return kStart; }});
    EXPECT_TRUE(absl::IsUnavailable(dying.Put(Info(1), content, "node/web-1")));
    EXPECT_THAT(Listed(), IsEmpty());
    EXPECT_TRUE(absl::IsNotFound(blobs_->Get(Id(1), BlobRole::kOperator, "who").status()));
    EXPECT_THAT(Audited(), IsEmpty());
    EXPECT_EQ(Rows(CatalogTable::kBlobPieces), static_cast<size_t>(std::max(0, commits - 1)));
    EXPECT_EQ(*blobs_->Expire(kStart), 0u);
    EXPECT_EQ(Rows(CatalogTable::kBlobPieces), 0u);
    EXPECT_EQ(Rows(CatalogTable::kBlobs), 0u);
  }
}

TEST_P(BlobConformanceTest, APutThatEndedHalfWayDoesNotKeepItsId) {
  EndingCatalog ending(&engine_->catalog(), 3);
  CatalogBlobs dying({.catalog = &ending, .now_ns = [] { return kStart; }});
  ASSERT_FALSE(dying.Put(Info(1), Content(2 * kBlobPieceBytes + 1), "node/web-1").ok());
  BlobInfo info = Info(1);
  info.owner = "node/web-2";
  ASSERT_TRUE(blobs_->Put(info, "other", "node/web-2").ok());
  EXPECT_EQ(*blobs_->Get(Id(1), BlobRole::kViewer, "who"), "other");
  EXPECT_EQ((*blobs_->List())[0].owner, "node/web-2");
  EXPECT_EQ(Rows(CatalogTable::kBlobPieces), 1u) << "nothing of the first is left";
}

INSTANTIATE_TEST_SUITE_P(Engines, BlobConformanceTest, ::testing::Values("memory", "rocks"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace telltale::storage
