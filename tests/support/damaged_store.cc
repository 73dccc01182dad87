#include "tests/support/damaged_store.h"

#include <filesystem>

#include "proto/codec.h"
#include "storage/stored_value.h"
#include "tests/support/damage.h"

namespace telltale::testing {

using storage::kDayNs;
using storage::kHourNs;

DamagedStoreTest::DamagedStoreTest() {
  Open();
  for (const SyntheticNode& maker : makers_) {
    nodes_.push_back(*store_->nodes().NumberOf(maker.name()));
    EXPECT_TRUE(store_->summaries().PutSchema(nodes_.back(), proto::BuiltinSchema()).ok());
  }
}

absl::Status DamagedStoreTest::TryOpen() {
  store_.reset();
  storage::StoreOptions options;
  options.path = dir_.path() + "/store";
  options.now_ns = [this] { return now_ns_; };
  options.min_free_bytes = 0;
  options.memory_bytes = 256 << 20;  // nothing is flushed before Damage or WriteFiles does
  auto opened = storage::Store::Open(options);
  if (opened.ok()) store_ = *std::move(opened);
  return opened.status();
}

void DamagedStoreTest::Open() {
  const absl::Status opened = TryOpen();
  ASSERT_TRUE(opened.ok()) << opened;
}

absl::StatusOr<storage::Outcome> DamagedStoreTest::Put(size_t node, uint64_t minute,
                                                       uint64_t late_ns) {
  const MadeSummary made = makers_[node].Make(minute + 1, kStart + minute * kMinuteNs + late_ns);
  const storage::Incoming item{nodes_[node], &made.summary, &made.body, true};
  const auto put = store_->summaries().PutBatch({&item, 1});
  if (!put.ok()) return put.status();
  return put->front();
}

void DamagedStoreTest::PutAll(size_t node, uint64_t first, uint64_t last) {
  for (uint64_t minute = first; minute <= last; ++minute) {
    const auto put = Put(node, minute);
    ASSERT_TRUE(put.ok()) << put.status();
    ASSERT_EQ(*put, storage::Outcome::kStored);
  }
}

void DamagedStoreTest::PutRows(const Rows& rows) {
  const auto transaction = store_->catalog().Begin();
  for (const auto& [key, value] : rows) transaction->Put(key, value);
  ASSERT_TRUE(transaction->Commit(storage::Durability::kDurable).ok());
}

void DamagedStoreTest::RollUp(uint64_t now_ns) {
  now_ns_ = now_ns;
  constexpr uint32_t kAtOnce = 10'000;
  for (bool more = true; more;) {
    const auto windows = store_->roller().RunDue(nodes_, now_ns_, kAtOnce);
    ASSERT_TRUE(windows.ok()) << windows.status();
    more = *windows != 0;
  }
  for (bool more = true; more;) {
    const auto lines = store_->roller().RunLines(now_ns_, kAtOnce);
    ASSERT_TRUE(lines.ok()) << lines.status();
    more = *lines != 0;
  }
}

void DamagedStoreTest::WriteFiles() {
  const std::string backup = dir_.path() + "/backup";
  const absl::Status written = store_->BackUp(backup, {}).status();
  ASSERT_TRUE(written.ok()) << written;
  std::filesystem::remove_all(backup);
}

DamagedStoreTest::Rows DamagedStoreTest::ManyMarks() {
  Rows marks;
  for (const uint32_t node : {nodes_[0], nodes_[2]}) {
    for (uint64_t window = 0; window < 20'000; ++window) {
      const storage::DirtyKey key{node, storage::Tier::k5Min,
                                  kStart + 400 * kDayNs + window * kFiveMinutesNs};
      marks[storage::EncodeDirtyKey(key)] = storage::EncodeU64(random_());
    }
  }
  return marks;
}

DamagedStoreTest::Rows DamagedStoreTest::ManyDaysOfCoverage(size_t node) {
  Rows days;
  for (uint16_t day = kDay - 3000; day < kDay + 3000; ++day) {
    storage::CoverageDay coverage;
    const uint64_t start_ns = day * kDayNs + random_() % kHourNs;
    coverage.Add({start_ns, start_ns + kMinuteNs, kMinuteNs, false});
    days[storage::CoverageKey(nodes_[node], day)] = storage::EncodeValue(coverage.ToRecord());
  }
  return days;
}

DamagedStoreTest::Rows DamagedStoreTest::ManyLedgers(size_t node) {
  Rows ledgers;
  for (int i = 0; i < 3000; ++i) {
    storage::Incarnation incarnation;
    for (uint8_t& byte : incarnation) byte = static_cast<uint8_t>(random_());
    storage::SequenceLedger ledger;
    ledger.AddReceived(1 + random_() % 1'000'000);
    ledgers[storage::LedgerKey(nodes_[node], incarnation)] =
        storage::EncodeValue(ledger.ToRecord());
  }
  return ledgers;
}

void DamagedStoreTest::Damage(std::string_view family, double from, double to) {
  store_.reset();
  file_ = DamageRows(rocks(), family, from, to);
  ASSERT_NE(file_, "");
}

uint64_t DamagedStoreTest::Epochs(storage::Tier tier, size_t node) const {
  uint64_t epochs = 0;
  EXPECT_TRUE(store_->reader()
                  .ForEachRollup(
                      tier, nodes_[node], kStart, kStart + kDayNs, {0},
                      [&](const storage::RollupRow& row) {
                        epochs += row.window.epochs();
                        return true;
                      },
                      [](const storage::DamagedRow&) {})
                  .ok());
  return epochs;
}

}  // namespace telltale::testing
