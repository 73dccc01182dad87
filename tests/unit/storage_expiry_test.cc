// Two years of a small fleet whose summaries and names arrive in any order, with everything
// expiring meanwhile: a stored stack keeps its names to its last day, and the catalog does not
// grow.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/codec.h"
#include "storage/dictionary.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "storage/node_registry.h"
#include "storage/reader.h"
#include "storage/retention.h"
#include "storage/rollup/roller.h"
#include "storage/summary_store.h"
#include "tests/support/synthetic_node.h"

namespace telltale::storage {
namespace {

using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;

constexpr uint64_t kFirstDay = 20'500;
constexpr uint64_t kDays = 730;
constexpr uint64_t kLifeNs = 50 * kDayNs;  // of a build and of an installation

class Numbers {
 public:
  uint64_t Below(uint64_t n) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 33) % n;
  }

 private:
  uint64_t state_ = 11;
};

// What a location is called, everywhere and always.
std::string NameOf(const std::string& build_id, uint64_t offset) {
  return "f" + std::to_string(offset) + build_id.substr(4);
}

// A summary and the names that travel with it, cut one day and arriving another.
struct Record {
  uint64_t cut_ns = 0;
  MadeSummary made;
  std::vector<v1::Names> names;
};

// A node whose programs are built anew every 50 days and which is installed anew as often.
class Agent {
 public:
  explicit Agent(const std::string& name, uint64_t seed) : maker_(name, seed) {}

  Record Cut(uint64_t now_ns) {
    const uint8_t life = static_cast<uint8_t>(1 + (now_ns - kFirstDay * kDayNs) / kLifeNs);
    if (life != life_) {
      life_ = life;
      sequence_ = 0;
      told_ns_.clear();
      maker_.set_incarnation_byte(life);
    }
    Record record;
    record.cut_ns = now_ns;
    record.made = maker_.MakeWith(++sequence_, now_ns, 60, [&](v1::SummaryBody& body) {
      v1::Tables& tables = *body.mutable_tables();
      for (v1::Mapping& mapping : *tables.mutable_mappings()) {
        mapping.mutable_build_id()->append(std::to_string(life));
      }
      // A part of the code runs in this epoch; some of it rarely.
      for (int i = 0; i < tables.frame_offset_size(); ++i) {
        const uint64_t rare = numbers_.Below(40);
        tables.set_frame_offset(i, tables.frame_offset(i) + (rare < 4 ? 0x10 * rare : 0));
      }
      record.names = Unsent(tables, now_ns);
    });
    return record;
  }

 private:
  // As agent/symbols/name_book.h: told once and again a week later. One location in eight has no
  // name.
  std::vector<v1::Names> Unsent(const v1::Tables& tables, uint64_t now_ns) {
    std::map<std::string, std::map<uint64_t, std::string>> files;
    for (int i = 0; i < tables.frame_offset_size(); ++i) {
      const std::string& build_id = tables.mappings(tables.frame_mapping(i) - 1).build_id();
      const uint64_t offset = tables.frame_offset(i);
      uint64_t& told_ns = told_ns_[{build_id, offset}];
      if (offset / 0x40 % 8 == 7) continue;
      if (told_ns != 0 && now_ns < told_ns + proto::kNamesTravelAgainNs) continue;
      told_ns = now_ns;
      files[build_id][offset] = NameOf(build_id, offset);
    }
    std::vector<v1::Names> messages;
    for (const auto& [build_id, names] : files) {
      v1::Names& message = messages.emplace_back();
      message.set_build_id(build_id);
      for (const auto& [offset, name] : names) {
        message.add_offset(offset);
        message.add_name(name);
      }
    }
    return messages;
  }

  SyntheticNode maker_;
  Numbers numbers_;
  uint8_t life_ = 0;
  uint64_t sequence_ = 0;
  std::map<std::pair<std::string, uint64_t>, uint64_t> told_ns_;
};

class ExpiryTest : public ::testing::Test {
 protected:
  ExpiryTest() {
    Open();
    node_ = *store_.nodes->NumberOf("web-1");
    EXPECT_TRUE(store_.summaries->PutSchema(node_, proto::BuiltinSchema()).ok());
  }
  // A process over what is stored.
  struct Process {
    std::unique_ptr<NodeRegistry> nodes;
    std::unique_ptr<Dictionary> dictionary;
    std::unique_ptr<SummaryStore> summaries;
    std::unique_ptr<Retention> retention;
    std::unique_ptr<Reader> reader;
    std::unique_ptr<Roller> roller;
  };
  void Open() {
    store_ = Process();
    store_.nodes = *NodeRegistry::Open(&catalog_, 10);
    store_.dictionary = *Dictionary::Open(&history_);
    SummaryStoreOptions options;
    options.history = &history_;
    options.catalog = &catalog_;
    options.registry = store_.nodes.get();
    options.dictionary = store_.dictionary.get();
    options.now_ns = [this] { return now_ns_; };
    store_.summaries = *SummaryStore::Open(std::move(options));
    RetentionOptions kept;
    kept.raw_days = 5;
    kept.cells_hours = 24;
    kept.five_minute_days = 12;
    kept.hour_days = 40;
    kept.day_days = 120;
    store_.retention = std::make_unique<Retention>(kept, &history_, store_.summaries.get(),
                                                   store_.dictionary.get());
    store_.reader = std::make_unique<Reader>(&history_, &catalog_, store_.nodes.get(),
                                             store_.summaries.get(), store_.dictionary.get());
    store_.roller =
        std::make_unique<Roller>(RollerOptions(), &history_, &catalog_, store_.reader.get(),
                                 store_.summaries.get(), store_.dictionary.get());
  }

  void Arrive(const Record& record) {
    for (const v1::Names& names : record.names) {
      ASSERT_TRUE(store_.summaries->PutNames(node_, names).ok());
      for (uint64_t offset : names.offset()) {
        told_ns_[{names.build_id(), offset}].insert(record.cut_ns);
      }
    }
    const Incoming item{node_, &record.made.summary, &record.made.body, true};
    const auto outcome = store_.summaries->PutBatch({&item, 1});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const bool in_time = DayOf(record.cut_ns) >= store_.summaries->RawFloor();
    EXPECT_EQ(outcome->front(), in_time ? Outcome::kStored : Outcome::kTooLate);
    stored_ += in_time ? 1 : 0;
    too_late_ += in_time ? 0 : 1;
  }
  void Tend() {
    const auto dropped = store_.retention->Run(now_ns_);
    ASSERT_TRUE(dropped.ok()) << dropped.status();
    const auto lines = store_.roller->RunLines(now_ns_, 1000);
    ASSERT_TRUE(lines.ok()) << lines.status();
    ASSERT_TRUE(store_.summaries->Prune({&node_, 1}, 10).ok());
    const auto rolled = store_.roller->RunDue({&node_, 1}, now_ns_, 10'000);
    ASSERT_TRUE(rolled.ok()) << rolled.status();
  }

  // Every location in these tables whose name had come for data of this time has it.
  void CheckTables(const v1::Tables& tables, uint64_t start_ns, uint64_t end_ns) {
    for (int i = 0; i < tables.frame_offset_size(); ++i) {
      if (tables.frame_mapping(i) == 0) continue;
      const std::string& build_id = tables.mappings(tables.frame_mapping(i) - 1).build_id();
      const uint64_t offset = tables.frame_offset(i);
      auto told = told_ns_.find({build_id, offset});
      if (told == told_ns_.end()) continue;
      const auto at = told->second.upper_bound(end_ns);
      if (at == told->second.begin() || *std::prev(at) + 8 * kDayNs < start_ns) continue;
      const std::optional<std::string> name = store_.reader->SymbolName(build_id, offset, node_);
      ++checked_;
      if (name == NameOf(build_id, offset)) continue;
      ++broken_;
      ADD_FAILURE_AT(__FILE__, __LINE__)
          << "offset " << offset << " of day " << start_ns / kDayNs << " on day "
          << now_ns_ / kDayNs << ": " << name.value_or("no name");
    }
  }
  void CheckReachable() {
    ASSERT_TRUE(
        store_.reader
            ->ForEachRaw(node_, 0, UINT64_MAX,
                         [&](const RawRow& row) {
                           auto decoded = proto::DecodeSummary(row.summary, proto::BuiltinSchema());
                           if (!decoded.ok()) return false;
                           CheckTables(decoded->body->tables(), row.key.start_ns, row.end_ns);
                           return broken_ < 5;
                         })
            .ok());
    for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
      ASSERT_TRUE(store_.reader
                      ->ForEachRollup(tier, node_, 0, UINT64_MAX, {0},
                                      [&](const RollupRow& row) {
                                        const uint64_t start = row.key.window_start_ns;
                                        CheckTables(row.window.tables(), start,
                                                    start + WindowNs(tier));
                                        ++reached_[tier];
                                        return broken_ < 5;
                                      })
                      .ok());
    }
  }
  size_t CatalogKeys() {
    size_t keys = 0;
    EXPECT_TRUE(catalog_.Begin()
                    ->Scan("", "", [&](std::string_view, std::string_view) { return ++keys != 0; })
                    .ok());
    return keys;
  }
  size_t NameRows() {
    size_t rows = 0;
    EXPECT_TRUE(history_
                    .Scan(Family::kDict, "", "",
                          [&](std::string_view, std::string_view) { return ++rows != 0; })
                    .ok());
    return rows;
  }

  MemoryHistory history_;
  MemoryCatalog catalog_;
  uint64_t now_ns_ = kFirstDay * kDayNs;
  Process store_;
  uint32_t node_ = 0;
  std::map<std::pair<std::string, uint64_t>, std::set<uint64_t>> told_ns_;
  std::map<Tier, uint64_t> reached_;
  uint64_t stored_ = 0;
  uint64_t too_late_ = 0;
  uint64_t checked_ = 0;
  uint64_t broken_ = 0;
};

TEST_F(ExpiryTest, EveryReachableStackKeepsItsNamesAndTheCatalogIsBounded) {
  Agent agent("web-1", 1);
  Numbers numbers;
  std::multimap<uint64_t, Record> on_their_way;  // by the day they arrive
  size_t most_keys = 0;
  size_t most_rows = 0;
  size_t half_keys = 0;
  size_t half_rows = 0;
  for (uint64_t day = 0; day < kDays && broken_ == 0; ++day) {
    now_ns_ = (kFirstDay + day) * kDayNs + 12 * kHourNs;
    // Most arrive the same day, some days later and out of order, a few too late, a few never.
    const uint64_t fate = numbers.Below(20);
    const uint64_t lag = fate < 12 ? 0 : fate < 18 ? numbers.Below(5) : 9;
    Record record = agent.Cut(now_ns_ - kHourNs - numbers.Below(10 * kHourNs));
    if (fate != 19) on_their_way.emplace(day + lag, std::move(record));
    // The newest first, as agents send a backlog.
    const auto due_end = on_their_way.upper_bound(day);
    std::vector<Record> due;
    for (auto it = on_their_way.begin(); it != due_end; ++it) due.push_back(std::move(it->second));
    on_their_way.erase(on_their_way.begin(), due_end);
    for (auto it = due.rbegin(); it != due.rend(); ++it) {
      Arrive(*it);
      if (numbers.Below(2) == 0) Tend();
    }
    now_ns_ += 11 * kHourNs;
    Tend();
    if (day % 20 == 19) CheckReachable();
    if (day % 97 == 96) Open();
    most_keys = std::max(most_keys, CatalogKeys());
    most_rows = std::max(most_rows, NameRows());
    if (day == kDays / 2) {
      half_keys = most_keys;
      half_rows = most_rows;
    }
  }
  EXPECT_GT(stored_, 600u);
  EXPECT_GT(too_late_, 10u);
  EXPECT_GT(checked_, 100'000u);
  for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) EXPECT_GT(reached_[tier], 300u);
  // The second year adds nothing: coverage of 120 days, ledgers of 15 installations, marks.
  EXPECT_LT(most_keys, 120u + 15 + 30);
  EXPECT_LE(most_keys, half_keys + 20);
  EXPECT_LE(most_rows, half_rows + half_rows / 4 + 500);
  const NodeCounters counters = store_.reader->Counters(node_);
  EXPECT_EQ(counters.epochs, stored_);
  EXPECT_EQ(counters.too_late, too_late_);
}

}  // namespace
}  // namespace telltale::storage
