#include "tests/bench/fill/filler.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/ledger.h"
#include "storage/rollup/line_block.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "tests/bench/fill/other_window.h"
#include "tests/fleetsim/noise.h"
#include "tests/fleetsim/redraw.h"

namespace telltale::bench {
namespace {

using storage::FloorTo;
using storage::kDayNs;
using storage::kHourNs;
using storage::kSecondNs;
using storage::Tier;

constexpr uint32_t kEpochS = 60;
constexpr uint64_t kEpochNs = kEpochS * kSecondNs;
constexpr uint64_t kFiveMinNs = 300 * kSecondNs;
// A question over the whole time begins in the hours around its oldest end, while it is asked.
constexpr uint64_t kOldHours = 4;
constexpr size_t kBatch = 128;

template <typename Message>
storage::Row RowOf(storage::Family family, std::string key, const Message& message,
                   uint64_t version) {
  return {family, std::move(key), storage::EncodeValue(message), version};
}

class Filler {
 public:
  explicit Filler(const FillOptions& options) : options_(options) {}

  absl::Status Run() {
    for (const auto& step : {&Filler::Begin, &Filler::Books, &Filler::FirstNode, &Filler::Windows,
                             &Filler::LastHour, &Filler::Lines}) {
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
    }
    store_.reset();
    return absl::OkStatus();
  }

 private:
  struct Node {
    fleetsim::NodeTraits traits;
    uint64_t settled = 0;  // epochs before those that are stored
    std::vector<bool> named;
  };

  absl::Status Begin();
  absl::Status Books();
  absl::Status FirstNode();
  absl::Status Windows();
  absl::Status LastHour();
  absl::Status Lines();

  absl::Status Open();
  // The raw epochs of one node from `from_ns` to the end, then their windows.
  absl::Status Epochs(uint32_t number, uint64_t from_ns);
  absl::Status ReadTemplates();
  // Windows of a tier in [from_ns, to_ns), of each node that has no epochs there.
  absl::Status WindowsOf(Tier tier, uint64_t from_ns, uint64_t to_ns);
  const storage::WindowRows& TemplateOf(Tier tier, uint64_t start_ns) const;
  Factor FactorOf(uint32_t number, uint64_t start_ns) const;
  uint64_t raw_from(uint32_t number) const { return number == 1 ? node_from_ns_ : hour_from_ns_; }
  Node& node(uint32_t number) { return nodes_[number - 1]; }

  const FillOptions& options_;
  uint64_t first_ns_ = 0;      // where the oldest data begin
  uint64_t node_from_ns_ = 0;  // the raw epochs of the first node
  uint64_t hour_from_ns_ = 0;  // those of the others
  uint64_t end_ns_ = 0;
  std::unique_ptr<fleetsim::Recording> recording_;
  std::unique_ptr<fleetsim::Redraw> redraw_;
  std::vector<Node> nodes_;
  std::unique_ptr<storage::Store> store_;
  std::map<Tier, std::vector<storage::WindowRows>> templates_;
};

absl::Status Filler::Begin() {
  end_ns_ = FloorTo(options_.now_ns, kEpochNs);
  first_ns_ = FloorTo(end_ns_ - options_.days * kDayNs, kDayNs);
  node_from_ns_ = FloorTo(end_ns_ - options_.node_days * kDayNs, kHourNs);
  hour_from_ns_ = FloorTo(end_ns_ - kHourNs - kEpochNs, kFiveMinNs);
  if (options_.recordings.empty()) {
    recording_ = std::make_unique<fleetsim::Recording>(fleetsim::Recording::Synthetic(kEpochS));
  } else {
    auto loaded = fleetsim::Recording::Load(options_.recordings, kEpochS);
    if (!loaded.ok()) return loaded.status();
    recording_ = std::make_unique<fleetsim::Recording>(*std::move(loaded));
  }
  redraw_ = std::make_unique<fleetsim::Redraw>(recording_.get(), fleetsim::RedrawOptions());
  for (uint32_t number = 1; number <= options_.nodes; ++number) {
    Node& node = nodes_.emplace_back();
    node.traits = fleetsim::TraitsOf(options_.seed, number, first_ns_);
    node.settled = (raw_from(number) - first_ns_) / kEpochNs;
    node.named.assign(redraw_->NameCount(), false);
  }
  std::error_code error;
  std::filesystem::create_directories(options_.data, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("make directory ", options_.data, ": ", error.message()));
  }
  if (std::filesystem::exists(options_.data + "/store")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "fill ", options_.data, ": there is a store in it already; name another directory"));
  }
  return Open();
}

absl::Status Filler::Open() {
  store_.reset();
  storage::StoreOptions options;
  options.path = options_.data + "/store";
  options.now_ns = [now_ns = options_.now_ns] { return now_ns; };
  auto store = storage::Store::Open(std::move(options));
  if (!store.ok()) return store.status();
  store_ = *std::move(store);
  return absl::OkStatus();
}

// What the books say of the time before the raw epochs; the store keeps them from there on.
absl::Status Filler::Books() {
  options_.say(absl::StrCat("books of ", options_.nodes, " nodes over ", options_.days, " days"));
  std::unique_ptr<storage::Transaction> books = store_->catalog().Begin();
  for (uint32_t number = 1; number <= options_.nodes; ++number) {
    const Node& of = node(number);
    const uint64_t from_ns = raw_from(number);
    storage::NodeRecord record;
    record.set_number(number);
    record.set_name(of.traits.name);
    *record.mutable_info() = fleetsim::InfoOf(of.traits, redraw_->AnySchema(), kEpochS);
    record.set_state(v1::NODE_STATE_REPORTING);
    record.set_state_since_ns(first_ns_);
    record.set_first_epoch_ns(first_ns_);
    record.set_last_epoch_ns(from_ns);
    record.set_last_received_ns(from_ns);
    v1::KnownIncarnation& incarnation = *record.add_incarnations();
    incarnation.set_id(of.traits.incarnation);
    incarnation.set_status(v1::INCARNATION_STATUS_COUNTED);
    incarnation.set_first_seen_ns(first_ns_);
    incarnation.set_last_seen_ns(from_ns);
    books->Put(storage::NodeRecordKey(number), storage::EncodeValue(record));

    v1::LedgerRecord ledger;
    ledger.set_settled_through(of.settled);
    ledger.set_settled_received(of.settled);
    ledger.set_last_day(storage::DayOf(from_ns));
    storage::Incarnation id;
    std::copy_n(of.traits.incarnation.begin(), id.size(), id.begin());
    books->Put(storage::LedgerKey(number, id), storage::EncodeValue(ledger));

    v1::CountersRecord counters;
    counters.set_epochs(of.settled);
    counters.set_pruned_day(storage::DayOf(node_from_ns_));
    books->Put(storage::CountersKey(number), storage::EncodeValue(counters));

    for (uint64_t day = first_ns_; day < from_ns; day += kDayNs) {
      const uint64_t watched_ns = std::min(day + kDayNs, from_ns) - day;
      v1::CoverageRecord coverage;
      coverage.add_start_ns(day);
      coverage.add_length_ns(watched_ns);
      coverage.add_watched_ns(watched_ns);
      coverage.add_epochs(static_cast<uint32_t>(watched_ns / kEpochNs));
      coverage.add_partial_epochs(0);
      books->Put(storage::CoverageKey(number, storage::DayOf(day)), storage::EncodeValue(coverage));
    }
  }
  absl::Status committed = books->Commit(storage::Durability::kDurable);
  if (!committed.ok()) return committed;
  books.reset();  // it holds the database
  if (absl::Status opened = Open(); !opened.ok()) return opened;
  for (uint32_t number = 1; number <= options_.nodes; ++number) {
    absl::Status put = store_->summaries().PutSchema(number, redraw_->AnySchema());
    if (!put.ok()) return put;
  }
  return store_->summaries().RaiseRawFloor(storage::DayOf(node_from_ns_));
}

absl::Status Filler::Epochs(uint32_t number, uint64_t from_ns) {
  Node& of = node(number);
  uint64_t sequence = of.settled;
  std::vector<agent::Record> records;
  std::vector<v1::SummaryBody> bodies;
  const auto put = [&]() -> absl::Status {
    std::vector<storage::Incoming> batch;
    for (size_t i = 0; i < records.size(); ++i) {
      batch.push_back({number, &records[i].summary, &bodies[i]});
    }
    auto stored = store_->summaries().PutBatch(batch);
    records.clear();
    bodies.clear();
    return stored.status();
  };
  for (uint64_t at = from_ns; at < end_ns_; at += kEpochNs) {
    fleetsim::CutEpoch epoch;
    epoch.sequence = ++sequence;
    epoch.start_unix_ns = at;
    epoch.end_unix_ns = at + kEpochNs;
    epoch.start_mono_ns = at - first_ns_ + kHourNs;
    epoch.length_s = kEpochS;
    epoch.clock_error_ns = 1'000'000;
    epoch.hlc = epoch.end_unix_ns / 1'000'000 << 16;
    auto drawn = redraw_->Draw(of.traits, epoch, of.named);
    if (!drawn.ok()) return drawn.status();
    for (const v1::Names& names : drawn->record.names) {
      if (absl::Status told = store_->summaries().PutNames(number, names); !told.ok()) return told;
    }
    for (const uint32_t name : drawn->new_names) of.named[name] = true;
    auto decoded = proto::DecodeSummary(drawn->record.summary, drawn->record.schema);
    if (!decoded.ok()) return decoded.status();
    absl::Status schema = store_->summaries().PutSchema(number, drawn->record.schema);
    if (!schema.ok()) return schema;
    records.push_back(std::move(drawn->record));
    bodies.push_back(std::move(*decoded->body));
    if (records.size() < kBatch) continue;
    if (absl::Status status = put(); !status.ok()) return status;
  }
  if (absl::Status status = put(); !status.ok()) return status;
  for (uint32_t done = 1; done > 0;) {
    auto windows = store_->roller().RunDue({&number, 1}, options_.now_ns, 1000);
    if (!windows.ok()) return windows.status();
    done = *windows;
  }
  return absl::OkStatus();
}

absl::Status Filler::FirstNode() {
  options_.say(absl::StrCat("raw epochs of ", options_.node_days, " days of one node"));
  if (absl::Status status = Epochs(1, node_from_ns_); !status.ok()) return status;
  return ReadTemplates();
}

absl::Status Filler::ReadTemplates() {
  for (const Tier tier : {Tier::k5Min, Tier::k1Hour}) {
    std::vector<storage::WindowRows>& templates = templates_[tier];
    absl::Status read = store_->reader().ForEachRollup(
        tier, 1, node_from_ns_, end_ns_, {}, [&](const storage::RollupRow& row) {
          templates.push_back({row.window, row.vitals});
          return true;
        });
    if (!read.ok()) return read;
    if (templates.empty()) {
      return absl::InternalError("fill: the first node has no windows to make others of");
    }
  }
  return absl::OkStatus();
}

// In turns.
const storage::WindowRows& Filler::TemplateOf(Tier tier, uint64_t start_ns) const {
  const std::vector<storage::WindowRows>& templates = templates_.at(tier);
  return templates[start_ns / storage::WindowNs(tier) % templates.size()];
}

Factor Filler::FactorOf(uint32_t number, uint64_t start_ns) const {
  const uint64_t node = fleetsim::Mix(options_.seed, number);
  const double factor =
      fleetsim::LogNormal(node, 0.3) * fleetsim::LogNormal(fleetsim::Mix(node, start_ns), 0.15);
  return {std::max<uint64_t>(1, static_cast<uint64_t>(1024 * factor))};
}

absl::Status Filler::WindowsOf(Tier tier, uint64_t from_ns, uint64_t to_ns) {
  constexpr size_t kRowsAtOnce = 2000;
  const uint64_t version = store_->summaries().IngestNumber();
  std::vector<storage::Row> rows;
  for (uint32_t number = 1; number <= options_.nodes; ++number) {
    const uint64_t until_ns = std::min(to_ns, raw_from(number));
    for (uint64_t at = from_ns; at < until_ns; at += storage::WindowNs(tier)) {
      const storage::WindowRows other = OtherWindow(TemplateOf(tier, at), FactorOf(number, at));
      storage::RollupKey key{tier, number, at, 0};
      rows.push_back(
          RowOf(storage::Family::kRollup, storage::EncodeRollupKey(key), other.window, version));
      for (const auto& [vital, row] : other.vitals) {
        key.vital = vital;
        rows.push_back(
            RowOf(storage::Family::kRollup, storage::EncodeRollupKey(key), row, version));
      }
    }
    if (rows.size() < kRowsAtOnce && number < options_.nodes) continue;
    if (absl::Status appended = store_->history().Append(rows); !appended.ok()) return appended;
    rows.clear();
  }
  return store_->history().Sync();
}

absl::Status Filler::Windows() {
  options_.say(absl::StrCat("windows of ", options_.nodes, " nodes"));
  const uint64_t hour = FloorTo(hour_from_ns_, kHourNs), day = FloorTo(hour_from_ns_, kDayNs);
  const uint64_t oldest = FloorTo(end_ns_ - options_.days * kDayNs, kHourNs);
  absl::Status status = WindowsOf(Tier::k1Hour, oldest, oldest + kOldHours * kHourNs);
  if (status.ok()) status = WindowsOf(Tier::k1Hour, day, hour);
  if (status.ok()) status = WindowsOf(Tier::k5Min, hour, hour_from_ns_);
  return status;
}

absl::Status Filler::LastHour() {
  const uint32_t workers = std::max(1u, std::thread::hardware_concurrency());
  std::mutex mutex;
  absl::Status failed;  // guarded by mutex
  uint32_t next = 2;    // guarded by mutex
  const auto work = [&] {
    for (;;) {
      uint32_t number = 0;
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (!failed.ok() || next > options_.nodes) return;
        number = next++;
        if (number % 50 == 0) {
          options_.say(absl::StrCat("raw epochs of the last hour: ", number, " of ", options_.nodes,
                                    " nodes"));
        }
      }
      const absl::Status status = Epochs(number, hour_from_ns_);
      std::lock_guard<std::mutex> lock(mutex);
      if (!status.ok()) failed = status;
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < workers; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return failed;
}

absl::Status Filler::Lines() {
  options_.say(absl::StrCat("line blocks of ", options_.days, " days"));
  for (uint32_t done = 1; done > 0;) {
    auto blocks = store_->roller().RunLines(options_.now_ns, 1000);
    if (!blocks.ok()) return blocks.status();
    done = *blocks;
  }
  // The present day's are made of its windows; of the days before it not all windows are there.
  const uint64_t today = FloorTo(hour_from_ns_, kDayNs);
  for (uint64_t day = first_ns_; day < today; day += kDayNs) {
    for (uint32_t group = 0; group <= options_.nodes / storage::kLineGroupNodes; ++group) {
      std::vector<storage::LineWindow> windows;
      for (uint32_t in_group = 0; in_group < storage::kLineGroupNodes; ++in_group) {
        const uint32_t number = group * storage::kLineGroupNodes + in_group;
        if (number == 0 || number > options_.nodes) continue;
        for (uint32_t hour = 0; hour < kDayNs / kHourNs; ++hour) {
          const uint64_t at = day + hour * kHourNs;
          const Factor factor = number == 1 ? Factor() : FactorOf(number, at);
          windows.push_back(
              {number, hour, OtherTotals(TemplateOf(Tier::k1Hour, at).window, factor)});
        }
      }
      std::vector<storage::Row> rows;
      for (const auto& [vital, block] : storage::MakeLineBlocks(windows)) {
        rows.push_back(RowOf(storage::Family::kLine,
                             storage::EncodeLineKey({Tier::k1Hour, vital, day, group}), block, 0));
      }
      if (absl::Status appended = store_->history().Append(rows); !appended.ok()) return appended;
    }
  }
  return store_->history().Sync();
}

}  // namespace

absl::Status Fill(const FillOptions& options) { return Filler(options).Run(); }

}  // namespace telltale::bench
