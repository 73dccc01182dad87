#include "tests/support/rollup_trial.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/store.h"
#include "tests/support/line_oracle.h"
#include "tests/support/rollup_oracle.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

using storage::Family;
using storage::kDayNs;
using storage::kHourNs;
using storage::kSecondNs;
using storage::Tier;

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Adds the CPU time of its life to a sum.
class Timed {
 public:
  explicit Timed(double* sum) : sum_(sum), begin_(CpuSeconds()) {}
  ~Timed() { *sum_ += CpuSeconds() - begin_; }

 private:
  double* const sum_;
  const double begin_;
};

constexpr uint64_t kStart = 20'500 * kDayNs;

class Trial {
 public:
  explicit Trial(const RollupTrial& trial) : trial_(trial), schema_(proto::BuiltinSchema()) {
    storage::StoreOptions options;
    options.path = dir_.path() + "/store";
    // While summaries come in, every window is over for a part of the time: windows become dirty
    // again and again.
    options.now_ns = [this] { return now_ns_; };
    options.min_free_bytes = 0;
    options.memory_bytes = 128 << 20;
    auto store = storage::Store::Open(options);
    if (!store.ok()) {
      result_.wrong = store.status().ToString();
      return;
    }
    store_ = *std::move(store);
    // Nodes without data before them: the trial's nodes lie in two groups of line blocks.
    for (uint32_t i = 1; i + (trial_.nodes + 1) / 2 < storage::kLineGroupNodes; ++i) {  // from 1 on
      Check(store_->nodes().NumberOf(absl::StrCat("silent-", i)).status());
    }
    for (uint32_t i = 0; i < trial_.nodes; ++i) {
      makers_.emplace_back(absl::StrCat("node-", i), i + 1);
      nodes_.push_back(*store_->nodes().NumberOf(makers_.back().name()));
    }
    Check(store_->summaries().PutSchema(nodes_[0], schema_));
  }

  RollupTrialResult Run() {
    if (result_.wrong.empty()) PutAll();
    if (result_.wrong.empty()) RollAll();
    for (uint32_t i = 0; i < trial_.nodes && result_.wrong.empty(); ++i) Compare(i);
    if (result_.wrong.empty()) CompareLines();
    for (size_t i = 0; i < storage::kFamilies && store_ != nullptr; ++i) {
      result_.store_bytes[i] = store_->history().Size(static_cast<Family>(i))->bytes;
    }
    return result_;
  }

 private:
  struct Epoch {
    uint32_t node;
    uint64_t sequence;
  };
  uint64_t StartOf(uint64_t sequence) const {
    return kStart + (sequence - 1) * trial_.every_minutes * 60 * kSecondNs;
  }
  void Check(const absl::Status& status) {
    if (!status.ok() && result_.wrong.empty()) result_.wrong = status.ToString();
  }

  void PutAll() {
    std::vector<Epoch> order;
    const uint64_t epochs = uint64_t{trial_.hours} * 60 / trial_.every_minutes;
    for (uint32_t node = 0; node < trial_.nodes; ++node) {
      for (uint64_t sequence = 1; sequence <= epochs; ++sequence) order.push_back({node, sequence});
    }
    uint64_t random = trial_.shuffle_seed;
    for (size_t i = order.size(); i > 1; --i) {  // Fisher and Yates
      random = random * 6364136223846793005 + 1442695040888963407;
      std::swap(order[i - 1], order[(random >> 33) % i]);
    }
    result_.summaries = order.size();
    uint32_t commits = 0;
    for (size_t begin = 0; begin < order.size() && result_.wrong.empty(); begin += trial_.batch) {
      const size_t end = std::min(order.size(), begin + trial_.batch);
      std::vector<MadeSummary> made;
      std::vector<storage::Incoming> batch;
      for (size_t i = begin; i < end; ++i) {
        const Timed timed(&result_.make_s);
        made.push_back(makers_[order[i].node].Make(order[i].sequence, StartOf(order[i].sequence)));
      }
      for (size_t i = begin; i < end; ++i) {
        batch.push_back({nodes_[order[i].node], &made[i - begin].summary, &made[i - begin].body});
      }
      {
        const Timed timed(&result_.put_s);
        Check(store_->summaries().PutBatch(batch).status());
      }
      if (++commits % trial_.roll_every == 0) {
        const Timed timed(&result_.roll_s);
        const uint64_t now_ns = kStart + trial_.hours * kHourNs / 2;
        Check(store_->roller().RunDue(nodes_, now_ns, 100).status());
        Check(store_->roller().RunLines(now_ns, 10).status());
      }
    }
  }

  void RollAll() {
    const Timed timed(&result_.roll_s);
    now_ns_ = kStart + trial_.hours * kHourNs + 2 * kDayNs;
    while (result_.wrong.empty()) {
      absl::StatusOr<uint32_t> done = store_->roller().RunDue(nodes_, now_ns_, 1000);
      Check(done.status());
      if (!done.ok() || *done == 0) break;
    }
    if (*store_->reader().DirtyWindows() != 0) result_.wrong = "dirty windows are left";
    while (result_.wrong.empty()) {
      absl::StatusOr<uint32_t> done = store_->roller().RunLines(now_ns_, 1000);
      Check(done.status());
      if (!done.ok() || *done == 0) break;
    }
  }

  void Same(Family family, const std::string& key, const google::protobuf::MessageLite& expected,
            const std::string& what) {
    if (!result_.wrong.empty()) return;  // the first difference is the telling one
    absl::StatusOr<std::string> stored = store_->history().Get(family, key);
    ++result_.compared_rows;
    if (!stored.ok()) {
      result_.wrong = absl::StrCat(what, ": ", stored.status().ToString());
    } else if (stored->substr(1) != proto::Canonical(expected)) {
      result_.wrong = absl::StrCat(what, ": ", stored->size() - 1, " bytes stored, ",
                                   expected.ByteSizeLong(), " expected, or other content");
    }
  }

  void SameWindow(Tier tier, uint32_t node, uint64_t start, const OracleWindow& expected) {
    const std::string what = absl::StrCat("tier ", static_cast<int>(tier), " node ", node, " at +",
                                          (start - kStart) / kSecondNs, " s vital ");
    storage::RollupKey key{tier, nodes_[node], start, 0};
    Same(Family::kRollup, EncodeRollupKey(key), expected.window, what + "0");
    lines_.Add(tier, nodes_[node], start, expected.window);
    for (const auto& [vital, rows] : expected.vitals) {
      key.vital = static_cast<uint8_t>(vital);
      Same(Family::kRollup, EncodeRollupKey(key), rows, absl::StrCat(what, vital));
    }
  }

  void Compare(uint32_t node) {
    const Timed timed(&result_.compare_s);
    std::vector<OracleWindow> hours_of_day;
    for (uint32_t hour = 0; hour < trial_.hours && result_.wrong.empty(); ++hour) {
      const uint64_t hour_start = kStart + hour * kHourNs;
      std::vector<OracleEpoch> of_hour;
      std::map<uint64_t, std::vector<OracleEpoch>> of_window;
      const uint64_t per_hour = 60 / trial_.every_minutes;
      for (uint64_t i = 1; i <= per_hour; ++i) {
        const uint64_t sequence = hour * per_hour + i;
        OracleEpoch epoch{sequence, makers_[node].Body(sequence, StartOf(sequence), 60)};
        of_window[StartOf(sequence) / (300 * kSecondNs)].push_back(epoch);
        of_hour.push_back(std::move(epoch));
      }
      Same(Family::kSeries, storage::EncodeSeriesKey({nodes_[node], hour_start}),
           SeriesOf(hour_start, of_hour), absl::StrCat("series of hour ", hour));
      std::vector<OracleWindow> windows;
      for (const auto& [number, epochs] : of_window) {
        windows.push_back(RollUpEpochs(epochs, schema_));
        SameWindow(Tier::k5Min, node, number * 300 * kSecondNs, windows.back());
      }
      hours_of_day.push_back(RollUpWindows(windows, schema_));
      SameWindow(Tier::k1Hour, node, hour_start, hours_of_day.back());
      if (hours_of_day.size() == 24 || hour + 1 == trial_.hours) {
        SameWindow(Tier::k1Day, node, hour_start / kDayNs * kDayNs,
                   RollUpWindows(hours_of_day, schema_));
        hours_of_day.clear();
      }
    }
  }

  void CompareLines() {
    const Timed timed(&result_.compare_s);
    const std::map<std::string, v1::LineBlock> expected = lines_.Blocks();
    for (const auto& [key, block] : expected) {
      const absl::StatusOr<storage::LineKey> where = storage::DecodeLineKey(key);
      Same(Family::kLine, key, block,
           absl::StrCat("line of tier ", static_cast<int>(where->tier), " vital ", where->vital,
                        " group ", where->group, " at +",
                        (where->bucket_start_ns - kStart) / kSecondNs, " s"));
    }
    result_.compared_lines = expected.size();
    Check(
        store_->history().Scan(Family::kLine, "", "", [&](std::string_view key, std::string_view) {
          if (!expected.contains(std::string(key))) {
            result_.wrong = "a line block of windows that do not exist";
          }
          return result_.wrong.empty();
        }));
  }

  const RollupTrial trial_;
  const v1::Schema schema_;
  TempDir dir_;
  uint64_t now_ns_ = kStart + kDayNs;
  std::unique_ptr<storage::Store> store_;
  std::vector<SyntheticNode> makers_;
  std::vector<uint32_t> nodes_;
  LineOracle lines_;
  RollupTrialResult result_;
};

}  // namespace

RollupTrialResult RunTrial(const RollupTrial& trial) { return Trial(trial).Run(); }

}  // namespace telltale::testing
