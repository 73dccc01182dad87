// What the query engine is told about filters that still learn, and of what versions of a filter
// found.

#include "collector/filter/query_anomalies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/filter/anomaly_log.h"
#include "storage/derived.h"
#include "storage/keys.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"

namespace telltale::filter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::FilterLearning Learns(const std::string& filter, const std::string& node) {
  v1::FilterLearning learning;
  learning.set_filter(filter);
  learning.set_node(node);
  return learning;
}

class QueryAnomaliesTest : public ::testing::Test {
 protected:
  QueryAnomaliesTest() : store_(&history_, &catalog_), log_(*AnomalyLog::Open({.store = &store_})) {
    selection_.end_ns = storage::kHourNs;
  }
  void Select(uint32_t number, const std::string& name) {
    const auto node = std::make_shared<storage::NodeRecord>();
    node->set_number(number);
    node->set_name(name);
    selection_.nodes.Add(node);
  }
  // "FILTER NODE" of each that still learns.
  std::vector<std::string> Learning(const std::string& filter = "") {
    v1::AnomaliesRequest request;
    request.set_filter(filter);
    const QueryAnomalies anomalies(
        &store_, log_.get(),
        [] {
          return std::vector<FilterIdentity>{{"ewma", 1}, {"leak", 1}};
        },
        [] {
          return std::vector<v1::FilterLearning>{Learns("ewma", "web-1"), Learns("ewma", "db-1"),
                                                 Learns("ewma", "web-2"), Learns("leak", "web-1"),
                                                 Learns("leak", "web-10")};
        });
    const auto answer = anomalies.List(request, selection_, {});
    EXPECT_TRUE(answer.ok()) << answer.status();
    std::vector<std::string> learning;
    if (!answer.ok()) return learning;
    for (const v1::FilterLearning& one : answer->learning()) {
      learning.push_back(absl::StrCat(one.filter(), " ", one.node()));
    }
    return learning;
  }

  // What a version of "leak" stored of an hour of node 1 in which it was shown epochs from
  // `first_sequence` on: one anomaly that it left open, and one point, if it found something.
  void PutHour(uint32_t version, uint64_t hour, uint64_t first_sequence, bool found,
               bool learning = false) {
    v1::FilterHour row;
    row.add_shown_sequences(first_sequence);
    row.add_shown_sequences(hour * 60 + 60);
    row.set_learning(learning);
    if (found) {
      v1::FilterAnomaly& anomaly = *row.add_anomalies();
      anomaly.set_vital("cpu");
      anomaly.set_start_ns(hour * storage::kHourNs + storage::kSecondNs);
      anomaly.set_end_ns((hour + 1) * storage::kHourNs);
      anomaly.set_open(true);
      v1::FilterPoints& points = *row.add_points();
      points.set_series("slope");
      points.add_time_ns(anomaly.start_ns());
      points.add_value_micro(1'000'000 * version);
    }
    const uint32_t number = *store_.FilterNumber("leak", version);
    ASSERT_TRUE(store_.Put({number, 1, hour * storage::kHourNs}, row.SerializeAsString(), 1).ok());
  }
  // Version 2 runs. It began in the middle of hour 1 and learned until hour 3.
  void PutUpgrade() {
    Select(1, "web-1");
    selection_.end_ns = 5 * storage::kHourNs;
    for (uint64_t hour = 0; hour < 4; ++hour) PutHour(1, hour, hour * 60 + 1, true);
    PutHour(2, 1, 90, false);
    PutHour(2, 2, 121, false, true);
    PutHour(2, 3, 181, false);
    PutHour(2, 4, 241, true);
  }
  QueryAnomalies Upgraded() {
    return QueryAnomalies(
        &store_, log_.get(),
        [] {
          return std::vector<FilterIdentity>{{"leak", 2}};
        },
        [] { return std::vector<v1::FilterLearning>{}; });
  }

  storage::MemoryHistory history_;
  storage::MemoryCatalog catalog_;
  storage::DerivedStore store_;
  std::unique_ptr<AnomalyLog> log_;
  query::Selection selection_;
};

TEST_F(QueryAnomaliesTest, LearningIsToldOfTheSelectedNodesOnly) {
  EXPECT_THAT(Learning(), IsEmpty());
  Select(1, "web-1");
  Select(3, "web-2");
  EXPECT_THAT(Learning(), ElementsAre("ewma web-1", "ewma web-2", "leak web-1"));
  EXPECT_THAT(Learning("leak"), ElementsAre("leak web-1"));
}

// What filters emit besides anomalies can be had.
TEST_F(QueryAnomaliesTest, TheSeriesOfAFilterAreToldByNodeAndTime) {
  constexpr uint64_t kMinute = 60'000'000'000;
  Select(1, "web-1");
  const uint32_t number = *store_.FilterNumber("crowded", 2);
  for (const uint32_t node : {1, 2}) {
    v1::FilterHour hour;
    for (const char* series : {"expected", "crowd"}) {
      v1::FilterPoints& points = *hour.add_points();
      points.set_series(series);
      points.set_vital("cpu");
      for (uint64_t minute = 0; minute < 3; ++minute) {
        points.add_time_ns(minute * kMinute);
        points.add_value_micro(static_cast<int64_t>(1'500'000 * (minute + 1)));
      }
    }
    ASSERT_TRUE(store_.Put({number, node, 0}, hour.SerializeAsString(), 1).ok());
  }
  const QueryAnomalies anomalies(
      &store_, log_.get(),
      [] {
        return std::vector<FilterIdentity>{{"crowded", 2}};
      },
      [] { return std::vector<v1::FilterLearning>{}; });
  v1::FilterSeriesRequest request;
  request.set_filter("crowded");
  EXPECT_EQ(anomalies.Series(request, selection_, {})->series_size(), 2);
  request.set_series("expected");
  selection_.start_ns = kMinute;
  const auto answer = anomalies.Series(request, selection_, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->series_size(), 1) << "not those of a node that was not asked about";
  const v1::FilterSeries& series = answer->series(0);
  EXPECT_EQ(series.node() + " " + series.series() + " " + series.vital(), "web-1 expected cpu");
  EXPECT_EQ(series.filter_version(), 2u);
  EXPECT_THAT(series.time_s(), ElementsAre(60, 120));
  EXPECT_THAT(series.value(), ElementsAre(3, 4.5));
  request.set_limit(1);
  EXPECT_EQ(anomalies.Series(request, selection_, {})->left_out(), 1u);
  EXPECT_EQ(anomalies.Series(request, selection_, [] { return true; }).status().code(),
            absl::StatusCode::kCancelled);
  request.set_filter("crowd");
  const auto unknown = anomalies.Series(request, selection_, {}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), ::testing::HasSubstr("nearest: crowded"));
}

TEST_F(QueryAnomaliesTest, WhatAFormerVersionFoundIsListedWhereTheRunningOneDoesNotSpeak) {
  PutUpgrade();
  v1::AnomaliesRequest request;
  for (const char* filter : {"", "leak"}) {
    request.set_filter(filter);
    const auto answer = Upgraded().List(request, selection_, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    std::vector<std::string> found;
    for (const v1::Anomaly& one : answer->anomalies()) {
      found.push_back(absl::StrCat("v", one.filter_version(), " hour ",
                                   static_cast<uint64_t>(one.start_s()) / 3600,
                                   one.open() ? " open" : ""));
    }
    EXPECT_THAT(found, ElementsAre("v2 hour 4 open", "v1 hour 2", "v1 hour 1", "v1 hour 0"));
  }
}

// What a filter left open that no longer runs goes on no longer than it said.
TEST_F(QueryAnomaliesTest, WhatAFormerVersionLeftOpenIsNotListedOfLaterTimes) {
  PutUpgrade();
  selection_.start_ns = 4 * storage::kHourNs;
  const auto answer = Upgraded().List({}, selection_, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->anomalies_size(), 1);
  EXPECT_EQ(answer->anomalies(0).filter_version(), 2u);
}

// Of a filter that was taken away, too.
TEST_F(QueryAnomaliesTest, WhatAFilterFoundThatNoLongerRunsIsListed) {
  PutUpgrade();
  const QueryAnomalies anomalies(
      &store_, log_.get(), [] { return std::vector<FilterIdentity>{}; },
      [] { return std::vector<v1::FilterLearning>{}; });
  v1::AnomaliesRequest request;
  request.set_filter("leak");
  const auto answer = anomalies.List(request, selection_, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->anomalies_size(), 4);
  for (const v1::Anomaly& one : answer->anomalies()) EXPECT_FALSE(one.open());
  request.set_filter("leek");
  const auto unknown = anomalies.List(request, selection_, {}).status();
  EXPECT_THAT(std::string(unknown.message()), ::testing::EndsWith("nearest: leak"));
}

TEST_F(QueryAnomaliesTest, TheSeriesOfAFormerVersionStandBesideThoseOfTheRunningOne) {
  PutUpgrade();
  v1::FilterSeriesRequest request;
  request.set_filter("leak");
  const auto answer = Upgraded().Series(request, selection_, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->series_size(), 2);
  EXPECT_EQ(answer->series(0).filter_version(), 1u);
  EXPECT_THAT(answer->series(0).time_s(), ElementsAre(1, 3'601, 7'201));
  EXPECT_EQ(answer->series(1).filter_version(), 2u);
  EXPECT_THAT(answer->series(1).time_s(), ElementsAre(4 * 3'600 + 1));
  request.set_limit(3);
  const auto oldest = Upgraded().Series(request, selection_, {});
  ASSERT_EQ(oldest->series_size(), 1) << "those left out are the newest";
  EXPECT_EQ(oldest->series(0).filter_version(), 1u);
}

}  // namespace
}  // namespace telltale::filter
