// What the store promises to ingest and to readers, on a real directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "proto/codec.h"
#include "storage/backup.h"
#include "storage/store.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;
using telltale::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kStart = 20'500 * kDayNs + 9 * kHourNs;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() { Open(); }

  void Open() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(Options());
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    node_ = *store_->nodes().NumberOf("web-1");
  }
  StoreOptions Options() {
    StoreOptions options;
    options.path = dir_.path() + "/store";
    options.now_ns = [this] {
      if (const auto meanwhile = std::exchange(at_clock_, nullptr)) meanwhile();
      return now_ns_;
    };
    options.memory_bytes = 32 << 20;
    options.min_free_bytes = 0;
    return options;
  }
  absl::StatusOr<std::vector<Outcome>> Put(const std::vector<const MadeSummary*>& made,
                                           bool counted = true) {
    std::vector<Incoming> batch;
    for (const MadeSummary* one : made) {
      batch.push_back({node_, &one->summary, &one->body, counted});
    }
    return store_->summaries().PutBatch(batch);
  }
  std::vector<uint64_t> StoredSequences(uint64_t from = 0, uint64_t to = UINT64_MAX) {
    std::vector<uint64_t> sequences;
    absl::Status scanned = store_->reader().ForEachRaw(node_, from, to, [&](const RawRow& row) {
      sequences.push_back(row.key.sequence);
      return true;
    });
    EXPECT_TRUE(scanned.ok()) << scanned;
    return sequences;
  }

  // As if a summary had come now, so that the clock is believed.
  void HearFromTheNode() {
    ASSERT_TRUE(store_->nodes()
                    .Update(node_, Durability::kBuffered,
                            [this](NodeRecord& record) { record.set_last_received_ns(now_ns_); })
                    .ok());
  }
  size_t DayWindows() {
    size_t windows = 0;
    absl::Status scanned = store_->reader().ForEachRollup(Tier::k1Day, node_, 0, UINT64_MAX, {0},
                                                          [&](const RollupRow&) {
                                                            ++windows;
                                                            return true;
                                                          });
    EXPECT_TRUE(scanned.ok()) << scanned;
    return windows;
  }

  TempDir dir_;
  uint64_t now_ns_ = kStart + kHourNs;
  std::function<void()> at_clock_;  // once, when the store asks what time it is
  std::unique_ptr<Store> store_;
  uint32_t node_ = 0;
  SyntheticNode maker_{"web-1", 1};
  MadeSummary first_ = maker_.Make(1, kStart);
  MadeSummary second_ = maker_.Make(2, kStart + 60 * kSecondNs);
};

TEST_F(StoreTest, GivesBackTheSummaryAsItCameWithoutItsCells) {
  EXPECT_THAT(*Put({&first_}), ElementsAre(Outcome::kStored));
  v1::Summary expected = first_.summary;
  expected.clear_cells();
  int rows = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachRaw(node_, 0, UINT64_MAX,
                              [&](const RawRow& row) {
                                ++rows;
                                EXPECT_EQ(row.summary.SerializeAsString(),
                                          expected.SerializeAsString());
                                EXPECT_EQ(row.digest, proto::Digest(first_.summary));
                                EXPECT_EQ(row.key.start_ns, kStart);
                                EXPECT_EQ(row.end_ns, kStart + 60 * kSecondNs);
                                EXPECT_EQ(*store_->reader().Cells(row.key), first_.summary.cells());
                                return true;
                              })
                  .ok());
  EXPECT_EQ(rows, 1);
}

TEST_F(StoreTest, ARepeatIsToldApartAndCountsOnce) {
  EXPECT_THAT(*Put({&first_, &first_}), ElementsAre(Outcome::kStored, Outcome::kRepeat));
  EXPECT_THAT(*Put({&first_}), ElementsAre(Outcome::kRepeat));
  const NodeCounters counters = store_->reader().Counters(node_);
  EXPECT_EQ(counters.epochs, 1u);
  EXPECT_EQ((counters.subs.at({1, 0}).weight), first_.body.vitals(0).subs(0).weight());
}

TEST_F(StoreTest, AnotherBodyOfAKnownIdentityIsKeptApart) {
  ASSERT_TRUE(Put({&first_}).ok());
  const MadeSummary other = maker_.MakeWith(
      1, kStart, 60, [](v1::SummaryBody& body) { body.mutable_gauges()->set_tasks(77); });
  EXPECT_THAT(*Put({&other}), ElementsAre(Outcome::kConflict));
  EXPECT_THAT(StoredSequences(), ElementsAre(1));
  const MadeSummary elsewhere = maker_.Make(1, kStart + 600 * kSecondNs);
  EXPECT_THAT(*Put({&elsewhere}), ElementsAre(Outcome::kConflict)) << "even at another time";
  int apart = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachApart(node_, 0, UINT64_MAX,
                                [&](const RawRow&) {
                                  ++apart;
                                  return true;
                                })
                  .ok());
  EXPECT_EQ(apart, 2);
  EXPECT_EQ(store_->reader().Counters(node_).epochs, 1u);
  EXPECT_EQ(store_->reader().Counters(node_).apart, 2u);
}

TEST_F(StoreTest, AClonesSummaryIsStoredButLeftOutOfSums) {
  EXPECT_THAT(*Put({&first_}, /*counted=*/false), ElementsAre(Outcome::kStored));
  EXPECT_THAT(*Put({&first_}, /*counted=*/false), ElementsAre(Outcome::kRepeat));
  EXPECT_THAT(StoredSequences(), ElementsAre());
  EXPECT_EQ(store_->reader().Counters(node_).epochs, 0u);
  EXPECT_EQ(store_->reader().Counters(node_).apart, 1u);
}

// The clock is asked between a batch's number and its commit.
TEST_F(StoreTest, ABatchThatIsSeenAfterALaterOneChangesTheStampAgain) {
  const uint32_t other = *store_->nodes().NumberOf("web-2");
  const MadeSummary later = SyntheticNode("web-2", 2).Make(1, kStart);
  const auto stamp = [this] { return store_->reader().Stamp({}, kStart, kStart + kHourNs); };
  uint64_t before = 0, after = 0;
  at_clock_ = [&] {
    before = stamp();
    const Incoming item{other, &later.summary, &later.body, true};
    EXPECT_THAT(*store_->summaries().PutBatch({&item, 1}), ElementsAre(Outcome::kStored));
    after = stamp();
    EXPECT_EQ(store_->reader().Counters(node_).epochs, 0u) << "an answer of now lacks the first";
  };
  EXPECT_THAT(*Put({&first_}), ElementsAre(Outcome::kStored));
  EXPECT_EQ(store_->reader().Counters(node_).epochs, 1u);
  EXPECT_NE(after, before);
  EXPECT_NE(stamp(), after);
}

TEST_F(StoreTest, EverythingSurvivesReopening) {
  ASSERT_TRUE(Put({&first_, &second_}).ok());
  LostRange lost;
  lost.first = 4;
  lost.last = 6;
  lost.reason = v1::Lost::SPOOL_FULL;
  ASSERT_TRUE(store_->summaries().DeclareLost(node_, maker_.incarnation(), lost).ok());
  const NodeCounters before = store_->reader().Counters(node_);
  const std::string id = store_->store_id();
  const uint64_t number = store_->summaries().IngestNumber();
  Open();
  EXPECT_EQ(store_->store_id(), id);
  EXPECT_GE(store_->summaries().IngestNumber(), number);
  EXPECT_THAT(StoredSequences(), ElementsAre(1, 2));
  EXPECT_EQ(store_->summaries().ReceivedThrough(node_, maker_.incarnation()), 2u);
  const NodeCounters after = store_->reader().Counters(node_);
  EXPECT_EQ(after.epochs, before.epochs);
  EXPECT_EQ((after.subs.at({1, 0}).weight), (before.subs.at({1, 0}).weight));
  EXPECT_THAT(*Put({&first_}), ElementsAre(Outcome::kRepeat));
  EXPECT_EQ(*store_->reader().DirtyWindows(), 2u) << "one series hour, one 5-minute window";
  EXPECT_EQ(store_->reader().Node("web-1")->last_epoch_ns(), kStart + 120 * kSecondNs);
}

TEST_F(StoreTest, ReadsTheEpochsThatOverlapTheRange) {
  ASSERT_TRUE(Put({&first_, &second_}).ok());
  EXPECT_THAT(StoredSequences(kStart + 30 * kSecondNs, kStart + 60 * kSecondNs), ElementsAre(1));
  EXPECT_THAT(StoredSequences(kStart + 59 * kSecondNs, kStart + 61 * kSecondNs), ElementsAre(1, 2));
  EXPECT_THAT(StoredSequences(kStart + 120 * kSecondNs, kStart + 180 * kSecondNs), ElementsAre());
}

TEST_F(StoreTest, AnEpochAcrossMidnightIsFoundFromBothDays) {
  const uint64_t midnight = 20'501 * kDayNs;
  now_ns_ = midnight + kHourNs;
  const MadeSummary early = maker_.Make(9, midnight - 2'000'000);
  ASSERT_TRUE(Put({&early}).ok());
  EXPECT_THAT(StoredSequences(midnight - kSecondNs, midnight), ElementsAre(9));
  EXPECT_THAT(StoredSequences(midnight, midnight + kSecondNs), ElementsAre(9));
}

TEST_F(StoreTest, ARowTheLedgerDoesNotListCountsForNothingUntilItIsResent) {
  // As after a crash between the rows and the commit.
  RawKey key;
  key.day = DayOf(kStart);
  key.node = node_;
  key.start_ns = kStart;
  key.incarnation = maker_.incarnation();
  key.sequence = 1;
  const Row row{Family::kRaw, EncodeRawKey(key), std::string("\x01 torn"), 0};
  ASSERT_TRUE(Put({&second_}).ok());
  ASSERT_TRUE(store_->history().Append({&row, 1}).ok());
  EXPECT_THAT(StoredSequences(), ElementsAre(2));
  EXPECT_THAT(*Put({&first_}), ElementsAre(Outcome::kStored));
  EXPECT_THAT(StoredSequences(), ElementsAre(1, 2));
}

TEST_F(StoreTest, WhatBelongsToAnExpiredDayIsTooLate) {
  ASSERT_TRUE(Put({&first_}).ok());
  now_ns_ += 30 * kDayNs;
  HearFromTheNode();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_THAT(StoredSequences(), ElementsAre());
  EXPECT_THAT(*Put({&second_}), ElementsAre(Outcome::kTooLate));
  EXPECT_THAT(*Put({&first_}), ElementsAre(Outcome::kRepeat)) << "it was taken in once";
  EXPECT_EQ(store_->reader().Counters(node_).epochs, 1u) << "counters never decrease";
  Open();
  EXPECT_THAT(*Put({&second_}), ElementsAre(Outcome::kTooLate));
}

TEST_F(StoreTest, ADayThatIsCutForItsSizeHasItsWindowsFirst) {
  store_.reset();
  StoreOptions options = Options();
  options.retention.max_raw_bytes = 1;
  store_ = *Store::Open(options);
  ASSERT_TRUE(store_->summaries().PutSchema(node_, proto::BuiltinSchema()).ok());
  const uint64_t midnight = 20'501 * kDayNs;
  now_ns_ = midnight + 30 * kSecondNs;
  for (uint64_t sequence = 1; sequence <= 9; ++sequence) {
    const MadeSummary made = maker_.Make(sequence, midnight - (11 - sequence) * 60 * kSecondNs);
    ASSERT_THAT(*Put({&made}), ElementsAre(Outcome::kStored));
  }
  // Puts it into files: the size of the few rows in memory is estimated and can be nothing.
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());
  ASSERT_TRUE(store_->Maintain().ok());
  const MadeSummary on_its_way = maker_.Make(10, midnight - 60 * kSecondNs);
  EXPECT_THAT(*Put({&on_its_way}), ElementsAre(Outcome::kStored));
  now_ns_ = midnight + 2 * kHourNs;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(StoredSequences().size(), 10u) << "shards busy with other things have not come to it";
  ASSERT_TRUE(store_->roller().RunDue({&node_, 1}, now_ns_, 1000).ok());
  EXPECT_EQ(DayWindows(), 1u);
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_THAT(StoredSequences(), ElementsAre()) << "an hour after its end it may go";
  EXPECT_EQ(DayWindows(), 1u);
}

TEST_F(StoreTest, ADayBeyondTheLimitWaitsForItsWindowsNoLongerThanAnHour) {
  store_.reset();
  StoreOptions options = Options();
  options.retention.max_raw_bytes = 1;
  store_ = *Store::Open(options);
  ASSERT_TRUE(store_->summaries().PutSchema(node_, proto::BuiltinSchema()).ok());
  ASSERT_TRUE(Put({&first_}).ok());
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());
  for (const uint64_t hours : {0, 2}) {
    now_ns_ = 20'502 * kDayNs + hours * kHourNs;
    ASSERT_TRUE(store_->Maintain().ok());
    EXPECT_EQ(StoredSequences().size(), hours == 0 ? 1u : 0u);
  }
}

TEST_F(StoreTest, EpochsThatExpiredWhileNobodyWasThereHaveTheirWindowsFirst) {
  ASSERT_TRUE(store_->summaries().PutSchema(node_, proto::BuiltinSchema()).ok());
  ASSERT_TRUE(Put({&first_}).ok());
  now_ns_ += 40 * kDayNs;
  Open();
  HearFromTheNode();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_THAT(*Put({&second_}), ElementsAre(Outcome::kTooLate)) << "its age is what it is";
  ASSERT_TRUE(store_->roller().RunDue({&node_, 1}, now_ns_, 1000).ok());
  EXPECT_EQ(DayWindows(), 1u);
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_THAT(StoredSequences(), ElementsAre());
  EXPECT_EQ(DayWindows(), 1u);
}

// A late epoch of an hour that was summed up before: the hour is made of all its windows again.
TEST_F(StoreTest, WindowsStayWhileTheirRawWaitsToBeSummedUpAgain) {
  ASSERT_TRUE(store_->summaries().PutSchema(node_, proto::BuiltinSchema()).ok());
  ASSERT_TRUE(Put({&first_}).ok());
  ASSERT_TRUE(store_->roller().RunDue({&node_, 1}, now_ns_, 1000).ok());
  const MadeSummary late = maker_.Make(2, kStart + 1200 * kSecondNs);
  ASSERT_TRUE(Put({&late}).ok());
  now_ns_ += 100 * kDayNs;  // windows of 5 min are kept for 60
  Open();
  HearFromTheNode();
  ASSERT_TRUE(store_->Maintain().ok());
  ASSERT_TRUE(store_->roller().RunDue({&node_, 1}, now_ns_, 1000).ok());
  uint32_t epochs = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachRollup(Tier::k1Hour, node_, 0, UINT64_MAX, {0},
                                 [&](const RollupRow& row) {
                                   epochs += row.window.epochs();
                                   return true;
                                 })
                  .ok());
  EXPECT_EQ(epochs, 2u);
}

TEST_F(StoreTest, AWindowThatIsNeverComputedKeepsItsDayForADayAtMost) {
  ASSERT_TRUE(Put({&first_}).ok());
  now_ns_ += 40 * kDayNs;
  Open();
  HearFromTheNode();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_THAT(StoredSequences(), ElementsAre(1));
  now_ns_ += kDayNs;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_THAT(StoredSequences(), ElementsAre());
}

TEST_F(StoreTest, AStartWithAClockYearsAheadDeletesNothingAndRefusesNothingLater) {
  ASSERT_TRUE(Put({&first_}).ok());
  constexpr uint64_t kAheadNs = 3653 * kDayNs;
  now_ns_ += kAheadNs;
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  now_ns_ -= kAheadNs;
  Open();
  EXPECT_THAT(*Put({&second_}), ElementsAre(Outcome::kStored));
  EXPECT_THAT(StoredSequences(), ElementsAre(1, 2));
}

TEST_F(StoreTest, AnEmptyStoreDoesNotRememberAClockYearsAhead) {
  constexpr uint64_t kAheadNs = 3653 * kDayNs;
  now_ns_ += kAheadNs;
  Open();
  ASSERT_TRUE(store_->Maintain().ok());
  now_ns_ -= kAheadNs;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_THAT(*Put({&first_}), ElementsAre(Outcome::kStored));
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_THAT(StoredSequences(), ElementsAre(1));
}

TEST_F(StoreTest, AnEmptyStoreRefusesWhatItWouldNotKeep) {
  const MadeSummary old = maker_.Make(1, kStart - 30 * kDayNs);
  EXPECT_THAT(*Put({&old}), ElementsAre(Outcome::kTooLate));
}

TEST_F(StoreTest, WhatACloneDeclaresLostIsNotTheNodesLoss) {
  ASSERT_TRUE(Put({&first_}).ok());
  const Incarnation clone = {2};
  const auto become = [&](v1::IncarnationStatus status) {
    ASSERT_TRUE(
        store_->nodes()
            .Update(
                node_, Durability::kBuffered,
                [&](NodeRecord& record) {
                  NodeRegistry::IncarnationOf(record, clone, status, now_ns_).set_status(status);
                })
            .ok());
  };
  LostRange lost;
  lost.first = 1;
  lost.last = 5;
  lost.reason = v1::Lost::SPOOL_FULL;
  ASSERT_TRUE(store_->summaries().DeclareLost(node_, clone, lost).ok());
  const auto epochs_lost = [&] {
    return store_->reader().Coverage(node_, kStart, kStart + kHourNs)->epochs_lost;
  };
  become(v1::INCARNATION_STATUS_APART);
  EXPECT_EQ(epochs_lost(), 0u);
  become(v1::INCARNATION_STATUS_REFUSED);
  EXPECT_EQ(epochs_lost(), 0u);
  become(v1::INCARNATION_STATUS_COUNTED);
  EXPECT_EQ(epochs_lost(), 5u) << "the ledger itself stays";
}

TEST_F(StoreTest, APlannedStopExplainsTheSilenceHoweverLongAgoItWas) {
  ASSERT_TRUE(Put({&first_}).ok());
  ASSERT_TRUE(
      store_->summaries().RecordStop(node_, {kStart + 60 * kSecondNs, v1::Goodbye::REBOOT}).ok());
  const uint64_t from = kStart + 3 * kDayNs;
  const CoverageView view = *store_->reader().Coverage(node_, from, from + kHourNs);
  EXPECT_EQ(view.stopped_ns, kHourNs);
  EXPECT_EQ(view.unwatched_ns, 0u);
  ASSERT_EQ(view.gaps.size(), 1u);
  EXPECT_EQ(view.gaps[0].cause, Gap::Cause::kStopped);
  EXPECT_EQ(view.gaps[0].detail, "node rebooted");
}

TEST_F(StoreTest, APlannedStopExplainsTheSilenceAlsoWhenTheNodeIsBack) {
  ASSERT_TRUE(Put({&first_}).ok());
  ASSERT_TRUE(
      store_->summaries().RecordStop(node_, {kStart + 60 * kSecondNs, v1::Goodbye::STOP}).ok());
  const MadeSummary back = maker_.Make(2, kStart + 5 * kDayNs);
  now_ns_ = kStart + 5 * kDayNs + 60 * kSecondNs;
  ASSERT_THAT(*Put({&back}), ElementsAre(Outcome::kStored));
  EXPECT_EQ(store_->reader().Node(node_)->state(), v1::NODE_STATE_REPORTING);
  const uint64_t from = kStart + 3 * kDayNs;
  const CoverageView view = *store_->reader().Coverage(node_, from, from + kHourNs);
  EXPECT_EQ(view.stopped_ns, kHourNs);
}

TEST_F(StoreTest, APlannedStopStandsInCoverageAndRecord) {
  ASSERT_TRUE(Put({&first_}).ok());
  EXPECT_EQ(store_->reader().Node(node_)->state(), v1::NODE_STATE_REPORTING);
  ASSERT_TRUE(
      store_->summaries().RecordStop(node_, {kStart + 60 * kSecondNs, v1::Goodbye::STOP}).ok());
  EXPECT_EQ(store_->reader().Node(node_)->state(), v1::NODE_STATE_STOPPED);
  const CoverageView view = *store_->reader().Coverage(node_, kStart, kStart + 360 * kSecondNs);
  EXPECT_EQ(view.watched_ns, 60 * kSecondNs);
  EXPECT_EQ(view.stopped_ns, 300 * kSecondNs);
  EXPECT_EQ(view.unwatched_ns, 0u);
  const MadeSummary back = maker_.Make(2, kStart + 600 * kSecondNs);
  ASSERT_TRUE(Put({&back}).ok());
  EXPECT_EQ(store_->reader().Node(node_)->state(), v1::NODE_STATE_REPORTING);
}

TEST_F(StoreTest, NamesComeFromTheNodeItselfOrFromTwoOthersThatAgree) {
  const auto names = [](const char* name) {
    v1::Names message;
    message.set_build_id("build");
    message.add_offset(64);
    message.add_name(name);
    return message;
  };
  const uint32_t second = *store_->nodes().NumberOf("web-2");
  const uint32_t third = *store_->nodes().NumberOf("web-3");
  ASSERT_TRUE(store_->summaries().PutNames(second, names("evil")).ok());
  const Reader& reader = store_->reader();
  EXPECT_EQ(reader.SymbolName("build", 64, node_), std::nullopt) << "one node's word is its own";
  EXPECT_EQ(*reader.SymbolName("build", 64, second), "evil");
  ASSERT_TRUE(store_->summaries().PutNames(third, names("main")).ok());
  EXPECT_EQ(reader.SymbolName("build", 64, node_), std::nullopt) << "they do not agree";
  ASSERT_TRUE(store_->summaries().PutNames(node_, names("main")).ok());
  EXPECT_EQ(*reader.SymbolName("build", 64, node_), "main");
  EXPECT_EQ(*reader.SymbolName("build", 64, 99), "main") << "two agree";
  EXPECT_EQ(*reader.SymbolName("build", 64, second), "evil") << "and it keeps its own";
}

TEST_F(StoreTest, NamesBeyondTheNodesQuotaAreRefusedAndRepeatsAreFree) {
  store_.reset();
  StoreOptions options = Options();
  options.max_name_bytes_per_node = 200;
  store_ = *Store::Open(options);
  v1::Names names;
  names.set_build_id("build");
  for (uint64_t i = 0; i < 20; ++i) {
    names.add_offset(i);
    names.add_name("function");
  }
  absl::Status refused = store_->summaries().PutNames(node_, names);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("left out 14 of 20"));
  v1::Names fitted;
  fitted.set_build_id("build");
  fitted.add_offset(0);
  fitted.add_name("function");
  EXPECT_TRUE(store_->summaries().PutNames(node_, fitted).ok());
}

TEST_F(StoreTest, TheQuotaOfNamesIsAWeeks) {
  store_.reset();
  StoreOptions options = Options();
  options.max_name_bytes_per_node = 40;
  const auto open = [&] { store_ = *Store::Open(options); };
  open();
  const auto names = [](uint64_t offset) {
    v1::Names message;
    message.set_build_id("build");
    message.add_offset(offset);
    message.add_name("function");
    return message;
  };
  ASSERT_TRUE(store_->summaries().PutNames(node_, names(1)).ok());
  EXPECT_FALSE(store_->summaries().PutNames(node_, names(2)).ok());
  ASSERT_TRUE(Put({&first_}).ok());  // commits the books
  store_.reset();
  open();
  EXPECT_FALSE(store_->summaries().PutNames(node_, names(2)).ok()) << "kept over a restart";
  now_ns_ += 7 * kDayNs;
  EXPECT_TRUE(store_->summaries().PutNames(node_, names(2)).ok());
  EXPECT_EQ(*store_->reader().SymbolName("build", 1, node_), "function");
}

TEST_F(StoreTest, ADirectoryOfTheFirstFormatIsUpgraded) {
  std::string key = std::string("\x01\x05", 2) + "build" + EncodeU64(64);
  key += std::string("\0\0\0", 3) + static_cast<char>(node_);
  const Row row{Family::kDict, key, "\x01main", 0};
  ASSERT_TRUE(store_->history().Append({&row, 1}).ok());
  ASSERT_TRUE(Put({&first_}).ok());
  store_.reset();
  const std::string file = dir_.path() + "/store/VERSION";
  std::ofstream(file) << "telltale-store 1\n";
  Open();
  ASSERT_TRUE(store_->upgrade().has_value()) << "whoever opened it is told";
  EXPECT_EQ(store_->upgrade()->from, 1);
  EXPECT_EQ(store_->upgrade()->to, 3);
  EXPECT_EQ(*store_->reader().SymbolName("build", 64, node_), "main");
  EXPECT_THAT(StoredSequences(), ElementsAre(1u));
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  EXPECT_EQ(line, "telltale-store 3");
  Open();
  EXPECT_FALSE(store_->upgrade().has_value());
}

TEST_F(StoreTest, ABodyIsKeptByColumnsUnlessItCameWithCells) {
  ASSERT_FALSE(first_.summary.cells().empty());
  MadeSummary plain = second_;
  plain.summary.clear_cells();
  plain.summary.clear_cells_bytes();
  ASSERT_TRUE(Put({&first_, &plain}).ok());
  std::vector<v1::Summary> stored;
  const auto keep = [&](const RawRow& row) {
    stored.push_back(row.summary);
    return true;
  };
  ASSERT_TRUE(store_->reader().ForEachRaw(node_, 0, UINT64_MAX, keep).ok());
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].format(), proto::kBodyFormat);
  EXPECT_EQ(stored[1].format(), proto::kColumnsFormat);
  const auto opened = proto::DecodeSummary(stored[1], proto::BuiltinSchema());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(proto::Canonical(*opened->body), proto::Canonical(plain.body));
  EXPECT_EQ(*Put({&plain}), std::vector{Outcome::kRepeat}) << "its digest is that of what came";
}

TEST_F(StoreTest, SchemasAreKnownToReaders) {
  const v1::Schema schema = proto::BuiltinSchema();
  EXPECT_FALSE(store_->reader().Schema(schema.id()).ok());
  ASSERT_TRUE(store_->summaries().PutSchema(node_, schema).ok());
  EXPECT_EQ((*store_->reader().Schema(schema.id()))->vitals_size(), schema.vitals_size());
  Open();
  EXPECT_TRUE(store_->reader().Schema(schema.id()).ok());
}

TEST_F(StoreTest, NodesWithTheSameSchemaShareOneCopy) {
  const v1::Schema schema = proto::BuiltinSchema();
  ASSERT_TRUE(store_->summaries().PutSchema(node_, schema).ok());
  const auto first = *store_->reader().Schema(schema.id());
  ASSERT_TRUE(store_->summaries().PutSchema(*store_->nodes().NumberOf("another"), schema).ok());
  EXPECT_EQ(*store_->reader().Schema(schema.id()), first);
}

TEST_F(StoreTest, ANodeCannotReplaceTheSchemaThatOthersAreReadBy) {
  const v1::Schema schema = proto::BuiltinSchema();
  ASSERT_TRUE(store_->summaries().PutSchema(node_, schema).ok());
  v1::Schema forged = schema;  // whose content was made to hash to the same id
  forged.mutable_vitals(0)->set_about("something else");
  const uint32_t another = *store_->nodes().NumberOf("another");
  EXPECT_EQ(store_->summaries().PutSchema(another, forged).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ((*store_->reader().Schema(schema.id()))->vitals(0).about(), schema.vitals(0).about());
  Open();
  EXPECT_EQ((*store_->reader().Schema(schema.id()))->vitals(0).about(), schema.vitals(0).about());
}

TEST_F(StoreTest, ASecondProcessIsToldWhoHoldsTheDirectory) {
  absl::StatusOr<std::unique_ptr<Store>> second = Store::Open(Options());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another process holds"));
}

TEST_F(StoreTest, ADirectoryOfANewerFormatIsRefusedAndLeftAlone) {
  store_.reset();
  const std::string file = dir_.path() + "/store/VERSION";
  std::ofstream(file) << "telltale-store 4\n";
  absl::StatusOr<std::unique_ptr<Store>> refused = Store::Open(Options());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("written in format 4, this program knows 3"));
  std::ofstream(file) << "telltale-store 3\n";
  Open();
}

TEST_F(StoreTest, TooLittleFreeSpaceRefusesTheBatch) {
  store_.reset();
  StoreOptions options = Options();
  options.min_free_bytes = UINT64_MAX;
  store_ = *Store::Open(options);
  absl::StatusOr<std::vector<Outcome>> refused = Put({&first_});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  Open();
  EXPECT_THAT(*Put({&first_}), ElementsAre(Outcome::kStored));
}

TEST_F(StoreTest, TheBytesOfADayCountItsBodiesInBlobFiles) {
  constexpr uint64_t kRows = 4000, kBody = 1000;
  std::vector<Row> rows;
  for (uint64_t i = 0; i < kRows; ++i) {
    RawKey key;
    key.day = static_cast<uint16_t>(100 + i * 10 / kRows);
    key.node = 1;
    key.start_ns = key.day * kDayNs + i;
    key.sequence = i + 1;
    rows.push_back({Family::kRaw, EncodeRawKey(key), std::string(kBody, 'b'), 0});
  }
  ASSERT_TRUE(store_->history().Append(rows).ok());
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());  // puts it into files
  const auto day = store_->history().RangeBytes(Family::kRaw, DayPrefix(104), DayPrefix(105));
  ASSERT_TRUE(day.ok()) << day.status();
  EXPECT_GT(*day, kRows * kBody / 10 / 2);
  EXPECT_LT(*day, kRows * kBody / 10 * 2);
}

TEST_F(StoreTest, WhatIsRestoredHasItsEpochsAndBlobs) {
  const MadeSummary made = maker_.Make(1, kStart);
  ASSERT_THAT(*Put({&made}), ElementsAre(Outcome::kStored));
  BlobInfo info;
  info.owner = "node/web-1";
  info.kind = "recording";
  info.expires_ns = UINT64_MAX;
  const std::string content(3 << 20, 'r');
  ASSERT_TRUE(store_->blobs().Put(info, content, "node/web-1").ok());
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());
  store_.reset();
  std::filesystem::remove_all(dir_.path() + "/store");

  // The data directory of Options() is dir_: what is restored stands where it was.
  const auto restored = Restore(nullptr, dir_.path() + "/backup", dir_.path(), {});
  ASSERT_TRUE(restored.ok()) << restored.status();
  Open();
  EXPECT_THAT(StoredSequences(), ElementsAre(1u));
  EXPECT_TRUE(*store_->blobs().Get(info.id, BlobRole::kOperator, "operator/ann") == content);
}

TEST_F(StoreTest, WhatRootRestoresIsTheOwnersOfTheDirectory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can restore for another user";
  const MadeSummary made = maker_.Make(1, kStart);
  ASSERT_THAT(*Put({&made}), ElementsAre(Outcome::kStored));
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());
  const std::string data = dir_.path() + "/of-another";
  std::filesystem::create_directory(data);
  ASSERT_EQ(chown(data.c_str(), 65534, 65534), 0);
  ASSERT_TRUE(Restore(nullptr, dir_.path() + "/backup", data, {}).ok());
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
    struct stat file = {};
    ASSERT_EQ(stat(entry.path().c_str(), &file), 0);
    EXPECT_EQ(file.st_uid, 65534u) << entry.path();
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_GT(files, 3u);
}

TEST_F(StoreTest, ABackupWhereNoDirectoryIsSaysWhichIsMissing) {
  const absl::Status refused = store_->BackUp(dir_.path() + "/mnt/not/backup", {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("there is no directory " + dir_.path() + "/mnt/not; create it"));
}

TEST_F(StoreTest, MaintenanceTakesBlobsThatEndedAndGivesTheirSpaceBack) {
  const auto blob_files = [this] {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path() + "/store/rocks")) {
      if (entry.path().extension() == ".blob") bytes += entry.file_size();
    }
    return bytes;
  };
  std::string content(2 << 20, '\0');
  std::mt19937 random(1);
  for (char& byte : content) byte = static_cast<char>(random());
  BlobInfo info;
  info.owner = "node/web-1";
  info.kind = "recording";
  info.expires_ns = now_ns_ + kHourNs;
  ASSERT_TRUE(store_->blobs().Put(info, content, "node/web-1").ok());
  // A backup has it, too.
  ASSERT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());
  EXPECT_GE(blob_files(), content.size());
  StoreOptions options = Options();
  options.path = dir_.path() + "/backup/store";
  {
    const auto backup = Store::Open(options);
    ASSERT_TRUE(backup.ok()) << backup.status();
    EXPECT_TRUE(*(*backup)->blobs().Get(info.id, BlobRole::kOperator, "operator/ann") == content);
  }

  now_ns_ = info.expires_ns;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->blobs().List()->size(), 1u);
  ++now_ns_;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->blobs().List()->size(), 0u);
  EXPECT_EQ(blob_files(), 0u);
}

TEST_F(StoreTest, AClockFarAheadDoesNotTakeBlobs) {
  const MadeSummary made = SyntheticNode("web-1", 1).Make(1, kStart);
  ASSERT_TRUE(Put({&made}).ok());
  BlobInfo info;
  info.owner = "node/web-1";
  info.kind = "recording";
  info.expires_ns = now_ns_ + 30 * kDayNs;
  ASSERT_TRUE(store_->blobs().Put(info, "content", "node/web-1").ok());
  now_ns_ += 365 * kDayNs;
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(store_->blobs().List()->size(), 1u);
}

TEST_F(StoreTest, BlobsAreTakenAsLongAsThereIsSpace) {
  StoreOptions options = Options();
  options.path = dir_.path() + "/full";
  options.min_free_bytes = uint64_t{1} << 60;
  const auto full = Store::Open(options);
  ASSERT_TRUE(full.ok()) << full.status();
  BlobInfo info;
  info.owner = "node/web-1";
  info.kind = "recording";
  info.expires_ns = UINT64_MAX;
  const absl::Status put = (*full)->blobs().Put(info, "content", "node/web-1");
  EXPECT_EQ(put.code(), absl::StatusCode::kResourceExhausted) << put;
  EXPECT_THAT(std::string(put.message()), HasSubstr("MiB free"));
}

TEST_F(StoreTest, RetentionThatTurnsTiersAroundIsRefused) {
  StoreOptions options = Options();
  options.path = dir_.path() + "/other";
  options.retention.raw_days = 90;
  absl::StatusOr<std::unique_ptr<Store>> refused = Store::Open(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("raw 90 d, 5 min 60 d"));
}

TEST_F(StoreTest, DerivedRowsAreReadBackByFilterAndTime) {
  DerivedStore& derived = store_->derived();
  const uint32_t ewma = *derived.FilterNumber("ewma", 1);
  EXPECT_EQ(*derived.FilterNumber("ewma", 1), ewma);
  const uint32_t newer = *derived.FilterNumber("ewma", 2);
  EXPECT_NE(newer, ewma);
  EXPECT_EQ(derived.Filters()->size(), 2u);
  EXPECT_EQ(derived.Filters()->back(), std::pair(std::string("ewma"), 2u));
  const uint64_t hour = FloorTo(kStart, kHourNs);
  ASSERT_TRUE(derived.Put({ewma, 2, hour}, "b", 1).ok());
  ASSERT_TRUE(derived.Put({ewma, 1, hour + kHourNs}, "c", 1).ok());
  ASSERT_TRUE(derived.Put({newer, 1, hour}, "x", 1).ok());
  std::vector<std::string> seen;
  ASSERT_TRUE(derived
                  .ForEach(ewma, hour, hour + kHourNs,
                           [&](const DerivedKey&, std::string_view value) {
                             seen.emplace_back(value);
                             return true;
                           })
                  .ok());
  EXPECT_THAT(seen, ElementsAre("b"));
}

}  // namespace
}  // namespace telltale::storage
