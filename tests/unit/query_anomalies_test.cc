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
    const auto answer = anomalies.List(request, selection_);
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

}  // namespace
}  // namespace telltale::filter
