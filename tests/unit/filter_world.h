// Filters over stored epochs of made-up nodes, with a clock that moves as epochs arrive.

#ifndef TELLTALE_TESTS_UNIT_FILTER_WORLD_H_
#define TELLTALE_TESTS_UNIT_FILTER_WORLD_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/filter/anomaly_list.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/ewma.h"
#include "collector/filter/filter_runner.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "tests/support/fake_epochs.h"

namespace telltale::filter {

inline double Quiet(uint64_t number) {
  std::mt19937 random(static_cast<uint32_t>(number + 1));
  return 1 + 0.1 * std::normal_distribution<double>()(random);
}

// A disk that may be full: then what is there can be read, and nothing written.
class HistoryOnDisk : public storage::MemoryHistory {
 public:
  bool full = false;
  absl::Status Append(std::span<const storage::Row> rows) override {
    if (full) return absl::ResourceExhaustedError("the disk is full");
    return MemoryHistory::Append(rows);
  }
};

// A store, a source, a clock and a runner over them.
class World {
 public:
  World() : store_(&history_, &catalog_) { Restart(); }

  void Restart() {
    runner_.reset();
    log_ = *AnomalyLog::Open({.store = &store_});
    FilterRunnerOptions options;
    options.source = &source_;
    options.store = &store_;
    options.log = log_.get();
    options.filters = filters_;
    options.now_ns = [this] { return now_; };
    options.on_mark = [this](const std::string& filter, const std::string& node,
                             const v1::FilterMark& mark) {
      marks_.push_back(absl::StrCat(filter, " ", node, " ", mark.text()));
      return absl::OkStatus();
    };
    options.log_line = [this](const std::string& line) { absl::StrAppend(&said_, line, "\n"); };
    auto runner = FilterRunner::Open(options);
    ASSERT_TRUE(runner.ok()) << runner.status();
    runner_ = *std::move(runner);
  }

  // Epoch `number` arrives and time moves on to its end.
  void Arrive(uint64_t number, double rate, uint32_t node = 1) {
    source_.Add(node, number, rate);
    now_ = std::max(now_, kBegin + (number + 1) * kEpoch);
  }
  void Look() {
    runner_->RunOnce();
    runner_->RunOnce();
  }

  std::vector<v1::Anomaly> List(AnomalyQuery query = {}) {
    if (query.to_ns == 0) query.to_ns = UINT64_MAX / 2;
    query.from_ns = std::max(query.from_ns, kBegin - 24 * 3600 * kSecond);
    if (query.to_ns > now_) query.to_ns = now_ + 3600 * kSecond;
    query.node_name = [](uint32_t node) { return absl::StrCat("n", node); };
    const auto page = ListAnomalies(&store_, runner_->filters(), query);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? page->anomalies : std::vector<v1::Anomaly>();
  }

  HistoryOnDisk history_;
  storage::MemoryCatalog catalog_;
  storage::DerivedStore store_;
  FakeSource source_;
  std::vector<const telltale_filter*> filters_ = {telltale_ewma_filter()};
  std::unique_ptr<AnomalyLog> log_;
  std::unique_ptr<FilterRunner> runner_;
  std::string said_;
  std::vector<std::string> marks_;
  uint64_t now_ = kBegin;
};

}  // namespace telltale::filter

#endif  // TELLTALE_TESTS_UNIT_FILTER_WORLD_H_
