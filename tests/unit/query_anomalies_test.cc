// What the query engine is told about filters that still learn.

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

}  // namespace
}  // namespace telltale::filter
