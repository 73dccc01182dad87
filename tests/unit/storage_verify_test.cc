// verify says nothing about a good store, and where it is about a bad one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/blob_rows.h"
#include "storage/raw_value.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "storage/verify.h"
#include "tests/support/damage.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;
using telltale::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kStart = 20'500 * kDayNs;
constexpr uint32_t kNodes = 2;
constexpr uint32_t kEpochs = 70;  // minutes: an hour and a bit

// Each test has a copy of one good store of its own.
class VerifyTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { good_ = std::make_unique<TempDir>(); }
  static void TearDownTestSuite() { good_.reset(); }

  VerifyTest() {
    const std::string good = good_->path() + "/data", own = dir_.path() + "/data";
    if (std::filesystem::exists(good)) {
      std::filesystem::copy(good, own, std::filesystem::copy_options::recursive);
    } else {
      Make();
      store_.reset();
      std::filesystem::copy(own, good, std::filesystem::copy_options::recursive);
    }
    Open();
  }
  void Make() {
    Open();
    EXPECT_TRUE(store_->summaries().PutSchema(1, proto::BuiltinSchema()).ok());
    std::vector<uint64_t> sequences(kEpochs);
    std::iota(sequences.begin(), sequences.end(), 1);
    Put(1, sequences);
    std::erase(sequences, 7);  // missing
    Put(0, sequences);
    EXPECT_TRUE(store_->summaries()
                    .DeclareLost(1, makers_[0].incarnation(),
                                 {.first = 71, .last = 73, .reason = v1::Lost::SPOOL_FULL})
                    .ok());
    RollUp();
  }
  void Open(bool read_only = false) {
    store_.reset();
    StoreOptions options;
    options.path = dir_.path() + "/data/store";
    options.now_ns = [this] { return now_ns_; };
    options.memory_bytes = 16 << 20;
    options.min_free_bytes = 0;
    options.read_only = read_only;
    options.retention.raw_days = 5;
    if (!read_only) std::filesystem::create_directories(dir_.path() + "/data");
    auto opened = Store::Open(options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    for (const SyntheticNode& maker : makers_) {
      if (!read_only) {
        EXPECT_TRUE(store_->nodes().NumberOf(maker.name()).ok());
      }
    }
  }
  void Put(uint32_t node, const std::vector<uint64_t>& sequences) {
    std::vector<MadeSummary> made;
    for (const uint64_t sequence : sequences) {
      made.push_back(makers_[node].Make(sequence, kStart + (sequence - 1) * 60 * kSecondNs));
    }
    std::vector<Incoming> batch;
    for (const MadeSummary& one : made) batch.push_back({node + 1, &one.summary, &one.body, true});
    const auto put = store_->summaries().PutBatch(batch);
    ASSERT_TRUE(put.ok()) << put.status();
  }
  void RollUp() {
    const std::vector<uint32_t> nodes = {1, 2};
    while (*store_->roller().RunDue(nodes, now_ns_, 1000) > 0) {
    }
    while (*store_->roller().RunLines(now_ns_, 1000) > 0) {
    }
  }
  VerifyReport Verified() {
    const auto report = Verify(*store_, {});
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  }
  void ExpectFault(const std::string& place, const std::string& what) {
    const VerifyReport report = Verified();
    ASSERT_FALSE(report.faults.empty());
    EXPECT_THAT(report.faults[0].place, HasSubstr(place));
    EXPECT_THAT(report.faults[0].what, HasSubstr(what));
  }
  // The first row of a family in key order, changed or dropped.
  std::string FirstKey(Family family, const std::function<bool(std::string_view)>& fits = {}) {
    std::string found;
    EXPECT_TRUE(store_->history()
                    .Scan(family, "", "",
                          [&](std::string_view key, std::string_view) {
                            if (fits && !fits(key)) return true;
                            found = std::string(key);
                            return false;
                          })
                    .ok());
    EXPECT_NE(found, "");
    return found;
  }
  void DropRow(Family family, const std::string& key) {
    ASSERT_TRUE(store_->history().DropRange(family, key, key + std::string(1, '\0')).ok());
  }

  static std::unique_ptr<TempDir> good_;
  TempDir dir_;
  uint64_t now_ns_ = kStart + 2 * kDayNs;
  std::vector<SyntheticNode> makers_ = {SyntheticNode("web-1", 1), SyntheticNode("web-2", 2)};
  std::unique_ptr<Store> store_;
};
std::unique_ptr<TempDir> VerifyTest::good_;

TEST_F(VerifyTest, AGoodStoreHasNoFaultsAndEveryTierIsRecomputed) {
  const VerifyReport report = Verified();
  for (const VerifyFault& fault : report.faults) ADD_FAILURE() << fault.place << ": " << fault.what;
  EXPECT_EQ(report.nodes, kNodes);
  EXPECT_EQ(report.epochs, kNodes * kEpochs - 1);
  EXPECT_EQ(report.lost, 3u);
  EXPECT_EQ(report.missing, 1u);
  EXPECT_EQ(report.pending, 0u);
  // Of each node 14 windows of 5 min, 2 of 1 h, 1 of 1 d, 2 series blocks; and lines.
  EXPECT_GT(report.recomputed, kNodes * (14u + 2 + 1 + 2));
  EXPECT_GT(report.names, 0u);
}

TEST_F(VerifyTest, ReadingLeavesEveryFileAsItIsAndKeepsACollectorOut) {
  store_.reset();
  const auto files = [this] {
    std::map<std::string, std::pair<uintmax_t, std::filesystem::file_time_type>> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      if (entry.is_regular_file()) {
        found[entry.path()] = {entry.file_size(), entry.last_write_time()};
      }
    }
    return found;
  };
  const auto before = files();
  Open(/*read_only=*/true);
  EXPECT_EQ(Verified().fault_count, 0u);
  EXPECT_TRUE(files() == before);
  StoreOptions second;
  second.path = dir_.path() + "/data/store";
  EXPECT_EQ(Store::Open(second).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(VerifyTest, MarkedWindowsArePendingNotWrong) {
  Put(0, {7});
  const VerifyReport report = Verified();
  EXPECT_EQ(report.fault_count, 0u);
  EXPECT_GT(report.pending, 0u);
}

TEST_F(VerifyTest, WhatWasWrittenButNeverAcknowledgedIsNoFault) {
  MadeSummary made = makers_[0].Make(7, kStart + 6 * 60 * kSecondNs);
  const RawHeader header{proto::Digest(made.summary), 60 * kSecondNs};
  RawKey key = *DecodeRawKey(FirstKey(Family::kRaw));
  key.sequence = 7;
  key.start_ns = kStart + 6 * 60 * kSecondNs;
  const Row cells{Family::kCells, EncodeRawKey(key), VersionedValue(made.summary.cells()), 0};
  made.summary.clear_cells();
  const Row body{Family::kRaw, EncodeRawKey(key), EncodeRawValueAsItCame(header, made.summary), 0};
  ASSERT_TRUE(store_->history().Append(std::vector<Row>{body, cells}).ok());
  const VerifyReport report = Verified();
  for (const VerifyFault& fault : report.faults) ADD_FAILURE() << fault.place << ": " << fault.what;
  EXPECT_EQ(report.unlisted, 1u);
  EXPECT_EQ(report.epochs, kNodes * kEpochs - 1);
}

TEST_F(VerifyTest, AnEpochThatIsListedButGoneIsFound) {
  DropRow(Family::kRaw, FirstKey(Family::kRaw, [](std::string_view key) {
            return DecodeRawKey(key)->sequence == 9;
          }));
  ExpectFault("ledger of node web-1", "lists epochs 9 to 9 as received");
}

TEST_F(VerifyTest, AnEpochThatStandsTwiceIsFound) {
  // The same number under another start: its body belongs to one of them only.
  const std::string first = FirstKey(Family::kRaw);
  RawKey key = *DecodeRawKey(first);
  key.start_ns += kSecondNs;
  const Row row{Family::kRaw, EncodeRawKey(key), *store_->history().Get(Family::kRaw, first), 0};
  ASSERT_TRUE(store_->history().Append({&row, 1}).ok());
  ExpectFault("web-1", "another time or number");
}

TEST_F(VerifyTest, AWindowThatSaysOtherThanItsEpochsIsFound) {
  const std::string first = FirstKey(Family::kRollup);
  auto window = *DecodeValue<v1::RollupWindow>(*store_->history().Get(Family::kRollup, first), "");
  window.set_epochs(window.epochs() + 1);
  const Row row{Family::kRollup, first, EncodeValue(window), 0};
  ASSERT_TRUE(store_->history().Append({&row, 1}).ok());
  ExpectFault("5 min window of node web-1 at 2026-02-16T00:00:00Z", "not what its source adds up");
}

TEST_F(VerifyTest, AVitalsRowThatIsOtherOrGoneIsFound) {
  const auto of_vital = [](std::string_view key) { return DecodeRollupKey(key)->vital != 0; };
  const std::string first = FirstKey(Family::kRollup, of_vital);
  auto vital = *DecodeValue<v1::RollupVital>(*store_->history().Get(Family::kRollup, first), "");
  const Row good{Family::kRollup, first, EncodeValue(vital), 0};
  vital.set_total(vital.total() + 1);
  const Row row{Family::kRollup, first, EncodeValue(vital), 0};
  ASSERT_TRUE(store_->history().Append({&row, 1}).ok());
  ExpectFault(", vital ", "not what its source adds up");
  ASSERT_TRUE(store_->history().Append({&good, 1}).ok());
  DropRow(Family::kRollup, first);
  ExpectFault(", vital ", "has no row");
}

TEST_F(VerifyTest, AWindowSeriesOrLineThatIsGoneOrOtherIsFound) {
  const std::string hour = FirstKey(Family::kRollup, [](std::string_view key) {
    return DecodeRollupKey(key)->tier == Tier::k1Hour;
  });
  const std::string kept = *store_->history().Get(Family::kRollup, hour);
  DropRow(Family::kRollup, hour);
  ExpectFault("1 h window of node web-1", "neither does nor is marked");
  const Row back{Family::kRollup, hour, kept, 0};
  ASSERT_TRUE(store_->history().Append({&back, 1}).ok());
  EXPECT_EQ(Verified().fault_count, 0u);

  const std::string series = FirstKey(Family::kSeries);
  DropRow(Family::kSeries, series);
  ExpectFault("series of node web-1", "neither does nor is marked");
  const Row empty{Family::kSeries, series, EncodeValue(v1::SeriesBlock()), 0};
  ASSERT_TRUE(store_->history().Append({&empty, 1}).ok());
  ExpectFault("series of node web-1", "not what its epochs add up to");
}

TEST_F(VerifyTest, ALineThatSaysOtherThanItsWindowsIsFound) {
  const Row row{Family::kLine, FirstKey(Family::kLine), EncodeValue(v1::LineBlock()), 0};
  ASSERT_TRUE(store_->history().Append({&row, 1}).ok());
  ExpectFault("line of vital", "not what its windows say");
}

TEST_F(VerifyTest, ANameThatWindowsNeedAndIsGoneIsFound) {
  DropRow(Family::kDict, FirstKey(Family::kDict, [](std::string_view key) {
            return DecodeNameKey(key)->partition.tier == Tier::k5Min;
          }));
  ExpectFault("5 min window", "is not where its windows need it");
}

TEST_F(VerifyTest, CountersAndCoverageThatAreNotTheirSumsAreFound) {
  std::unique_ptr<Transaction> good = store_->catalog().Begin();
  auto counters = *DecodeValue<v1::CountersRecord>(*good->Get(CountersKey(1)), "");
  counters.set_weight(0, counters.weight(0) + 1);
  auto coverage = *DecodeValue<v1::CoverageRecord>(*good->Get(CoverageKey(2, 20'500)), "");
  coverage.set_epochs(0, coverage.epochs(0) + 1);
  std::unique_ptr<Transaction> bad = store_->catalog().Begin();
  bad->Put(CountersKey(1), EncodeValue(counters));
  bad->Put(CoverageKey(2, 20'500), EncodeValue(coverage));
  ASSERT_TRUE(bad->Commit(Durability::kDurable).ok());
  good.reset();
  bad.reset();  // they hold the database open
  Open();
  const VerifyReport report = Verified();
  ASSERT_EQ(report.faults.size(), 2u);
  EXPECT_THAT(report.faults[0].place, HasSubstr("counters of node web-1"));
  EXPECT_THAT(report.faults[1].place, HasSubstr("coverage of node web-2"));
}

TEST_F(VerifyTest, WhatExpiredIsNoFault) {
  now_ns_ = kStart + 7 * kDayNs;
  // As if a summary had come now, so that the clock is believed.
  ASSERT_TRUE(store_->nodes()
                  .Update(1, Durability::kBuffered,
                          [this](NodeRecord& record) { record.set_last_received_ns(now_ns_); })
                  .ok());
  ASSERT_TRUE(store_->Maintain().ok());
  const VerifyReport report = Verified();
  for (const VerifyFault& fault : report.faults) ADD_FAILURE() << fault.place << ": " << fault.what;
  EXPECT_EQ(report.epochs, 0u);
  EXPECT_GT(report.sealed, 0u);
  const std::vector<uint32_t> nodes = {1, 2};
  EXPECT_TRUE(store_->summaries().Prune(nodes, 10).ok());
  EXPECT_EQ(Verified().fault_count, 0u);
}

TEST_F(VerifyTest, ADamagedTableFileIsNamed) {
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());  // all of it is in files
  Open();
  store_.reset();
  const std::string damaged =
      telltale::testing::DamageLargestTable(dir_.path() + "/data/store/rocks");
  Open(/*read_only=*/true);
  const VerifyReport report = Verified();
  ASSERT_GT(report.fault_count, 0u);
  EXPECT_EQ(report.faults[0].place, "files");
  EXPECT_THAT(report.faults[0].what, HasSubstr(damaged));
}

TEST_F(VerifyTest, ABlobsContentMustHaveItsDigest) {
  const auto change = [this](const std::string& key, const std::string& value) {
    auto transaction = store_->catalog().Begin();
    transaction->Put(key, value);
    ASSERT_TRUE(transaction->Commit(Durability::kDurable).ok());
  };
  BlobInfo info;
  info.owner = "node/web-1";
  info.kind = "recording";
  info.expires_ns = UINT64_MAX;
  for (uint8_t number = 1; number <= 3; ++number) {
    info.id.fill(number);
    const std::string content(number == 3 ? 2 * kBlobPieceBytes : 70'000, 'b');
    ASSERT_TRUE(store_->blobs().Put(info, content, "node/web-1").ok());
  }
  info.id.fill(2);
  VerifyReport report = Verified();
  EXPECT_EQ(report.fault_count, 0u);
  EXPECT_EQ(report.blobs, 3u);

  change(EncodeBlobPieceKey(info.id, 0), std::string(70'001, '\1'));
  info.id.fill(1);
  change(EncodeBlobPieceKey(info.id, 1), "\x01more");
  info.id.fill(4);
  change(EncodeBlobPieceKey(info.id, 0), "\x01piece");
  report = Verified();
  EXPECT_EQ(report.blobs, 2u);
  ASSERT_EQ(report.fault_count, 3u);
  EXPECT_THAT(report.faults[0].what, HasSubstr("belongs to no blob"));
  EXPECT_THAT(report.faults[1].what, HasSubstr("belongs to no blob"));
  EXPECT_THAT(report.faults[2].place, HasSubstr("blob 0202"));
  EXPECT_THAT(report.faults[2].place, HasSubstr("recording of node/web-1"));
  EXPECT_THAT(report.faults[2].what, HasSubstr("digest"));
}

TEST_F(VerifyTest, ABlobWhosePutNeverEndedIsNoFault) {
  BlobRecord record;
  record.info.id.fill(1);
  record.info.bytes = 3 * kBlobPieceBytes;
  record.unfinished = true;
  auto transaction = store_->catalog().Begin();
  transaction->Put(EncodeBlobKey(record.info.id), EncodeBlobRecord(record));
  transaction->Put(EncodeBlobPieceKey(record.info.id, 0), "\x01piece");
  ASSERT_TRUE(transaction->Commit(Durability::kDurable).ok());
  EXPECT_EQ(Verified().fault_count, 0u);
  EXPECT_EQ(Verified().blobs, 0u);
}

TEST_F(VerifyTest, ABlobThatADiskDamagedHidesNothingElse) {
  BlobInfo info;
  info.owner = "node/web-1";
  info.kind = "recording";
  info.expires_ns = UINT64_MAX;
  for (const uint8_t number : {0xe1, 0xe2}) {
    info.id.fill(number);
    ASSERT_TRUE(store_->blobs().Put(info, std::string(70'000, 'b'), "node/web-1").ok());
  }
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());  // all of it is in files
  store_.reset();
  size_t damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path() + "/data/store/rocks")) {
    if (entry.path().extension() != ".blob") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const size_t at = bytes.find("\x10" + std::string(16, '\xe1'));  // the key of its first piece
    if (at == std::string::npos) continue;
    file.seekp(static_cast<std::streamoff>(at + 30));
    file.write("\xff\x00\xff\x00", 4);
    ++damaged;
  }
  ASSERT_EQ(damaged, 1u) << "contents lie in blob files";
  Open(/*read_only=*/true);
  const VerifyReport report = Verified();
  ASSERT_EQ(report.fault_count, 1u);
  EXPECT_THAT(report.faults[0].place, HasSubstr("blob e1e1"));
  EXPECT_EQ(report.blobs, 1u);
}

TEST_F(VerifyTest, DamagedBlocksAreSteppedOverNamedAndCountedInEachFamily) {
  // So many names that they are several blocks.
  std::mt19937_64 random(7);
  std::vector<Row> names;
  for (uint64_t offset = 0; offset < 3000; ++offset) {
    names.push_back({Family::kDict,
                     NameKey(NamePartitionOf(Tier::kRaw, kStart), "build", offset, 1),
                     VersionedValue(absl::StrCat("function_", random(), random())), 0});
  }
  ASSERT_TRUE(store_->history().Append(names).ok());
  const uint64_t rows = Verified().rows;
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());  // all of it is in files
  store_.reset();
  const std::string rocks = dir_.path() + "/data/store/rocks";
  const auto dict = telltale::testing::DamageTablesOf(rocks, "dict", 0.4);
  const auto raw = telltale::testing::DamageTablesOf(rocks, "raw");
  Open(/*read_only=*/true);
  const VerifyReport report = Verified();
  const auto is_told = [&](std::string_view place, const std::string& file) {
    return std::ranges::any_of(report.faults, [&](const VerifyFault& fault) {
      return fault.place.starts_with(place) && fault.what.find(file) != std::string::npos;
    });
  };
  ASSERT_FALSE(dict.empty());
  ASSERT_FALSE(raw.empty());
  EXPECT_TRUE(is_told("dict, behind names of raw to ", dict[0].filename()));
  EXPECT_TRUE(is_told("raw, ", raw[0].filename()));
  EXPECT_TRUE(is_told("files", dict[0].filename()));
  EXPECT_TRUE(is_told("files", raw[0].filename())) << "the second file, too";
  EXPECT_GT(report.losses.at("raw").epochs, 0u);
  EXPECT_EQ(report.epochs + report.losses.at("raw").epochs, kNodes * kEpochs - 1)
      << "what is acknowledged is read or told";
  // A block of 3,000 names and some rows of raw; behind them everything was read.
  EXPECT_GT(report.losses.at("dict").rows, 10u);
  EXPECT_LT(report.losses.at("dict").rows, 2000u);
  const uint64_t told = report.losses.at("dict").rows + report.losses.at("raw").rows;
  EXPECT_NEAR(static_cast<double>(rows - report.rows), static_cast<double>(told),
              0.25 * static_cast<double>(told));
}

TEST_F(VerifyTest, OfAStoreThatCannotBeOpenedAllFamiliesAreRead) {
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());
  store_.reset();
  const std::string rocks = dir_.path() + "/data/store/rocks";
  const auto catalog = telltale::testing::DamageTablesOf(rocks, "default");
  ASSERT_FALSE(catalog.empty());
  telltale::testing::DamageTablesOf(rocks, "series");
  StoreOptions options;
  options.path = dir_.path() + "/data/store";
  options.read_only = true;
  const absl::Status refused = Store::Open(options).status();
  EXPECT_TRUE(absl::IsDataLoss(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("catalog"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(catalog.back().filename().string()));
  const auto report = VerifyRows(options, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(report->rows, 100u);
  EXPECT_EQ(report->losses.size(), 2u);
  EXPECT_GT(report->losses.at("catalog").rows, 0u);
  EXPECT_GT(report->losses.at("series").rows, 0u);
}

TEST_F(VerifyTest, ItCanBeStopped) {
  const auto report =
      Verify(*store_, {.watch = [](std::string_view, uint64_t, uint64_t) { return false; }});
  EXPECT_EQ(report.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(VerifyTest, ItTellsHowFarItsFilesAreAndCanBeStoppedBetweenThem) {
  std::vector<std::string> steps;
  uint64_t checked = 0, all = 0;
  const VerifyOptions second = {.watch = [&](std::string_view step, uint64_t done, uint64_t total) {
    steps.emplace_back(step);
    checked = done;
    all = total;
    return steps.size() < 3;
  }};
  store_.reset();
  Open(/*read_only=*/true);
  const auto stops = [&](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
    EXPECT_THAT(steps, ElementsAre("files", "files", "files"));
    EXPECT_GT(checked, 0u);
    EXPECT_LT(checked, all);
    steps.clear();
  };
  stops(Verify(*store_, second).status());
  store_.reset();
  stops(VerifyRows({.path = dir_.path() + "/data/store", .read_only = true}, second).status());
}

}  // namespace
}  // namespace telltale::storage
