// /metrics: its table, its figures, and what Prometheus' own checker says of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "collector/metrics/metric_table.h"
#include "collector/metrics/metrics_page.h"
#include "sketch/vital_ids.h"

namespace telltale::metrics {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;

class MetricsPageTest : public ::testing::Test {
 protected:
  MetricsPageTest() {
    sources_.version = "1.2.3";
    sources_.for_each_node = [this](const std::function<void(const NodeFigures&)>& visit) {
      for (const NodeFigures& node : nodes_) visit(node);
    };
    sources_.ingest = [] {
      IngestFigures figures;
      figures.ack_seconds = {{0.001, 0.01}, {5, 3, 1}, 0.5};
      figures.refused = {{"oversize", 2}};
      figures.rollup_errors = 8;
      figures.windows_expired = 9;
      return figures;
    };
    sources_.store = [] { return StoreFigures{{{"raw", 12345}, {"rollup", 6}}, 3}; };
    sources_.disk = [] { return DiskFigures{1000, 5000}; };
    sources_.certificate_ends = [] {
      return std::vector<std::pair<std::string, uint64_t>>{{"collector", 1800000000}};
    };
    sources_.filters = [] {
      return std::vector<FilterFigures>{
          {.filter = "ewma",
           .lag_s = 1.5,
           .skipped = 2,
           .unreadable = 6,
           .dropped = 4,
           .anomalies = {{"cpu", 7}}},
          {.filter = "mine",
           .user = UserFilterFigures{
               .disabled = true, .failures = 3, .cpu_s = 1.25, .memory_bytes = 4096}}};
    };
    sources_.grpc = [] { return GrpcFigures{3, 4, {{"flood", 5}}}; };
    sources_.http = [] { return HttpFigures{2, {{"2xx", 10}}, {{"full", 1}}}; };
  }

  NodeFigures& AddNode(const std::string& name) {
    NodeFigures& node = nodes_.emplace_back();
    node.number = static_cast<uint32_t>(nodes_.size());
    node.name = name;
    node.state = v1::NODE_STATE_REPORTING;
    node.epoch_length_s = 10;
    node.epochs = 1;
    return node;
  }

  std::string Page(size_t limit = 1000) {
    MetricsPage page(sources_, limit, rates_);
    std::string text, piece;
    bool more = true;
    while (more) {
      piece.clear();
      more = page.Next(piece);
      EXPECT_LE(piece.size(), 64u * 1024);
      text += piece;
    }
    return text;
  }

  // How many of each name; "{node" is added to names of which each node has its own.
  static std::map<std::string, size_t> SamplesOf(const std::string& page) {
    std::map<std::string, size_t> samples;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#')) continue;
      const size_t end = line.find_first_of("{ ");
      ++samples[line.substr(0, end) + (line.find("{node=") == end ? "{node" : "")];
    }
    return samples;
  }

  MetricSources sources_;
  std::vector<NodeFigures> nodes_;
  RateTracker rates_;
};

TEST_F(MetricsPageTest, ShowsExactlyTheFamiliesOfTheTable) {
  AddNode("a");
  std::vector<std::string> shown, table;
  std::istringstream page(Page());
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("# TYPE ")) shown.push_back(line.substr(7));
  }
  for (const MetricRow& row : MetricTable()) {
    table.push_back(row.name + (row.type == MetricType::kCounter ? " counter"
                                : row.type == MetricType::kGauge ? " gauge"
                                                                 : " histogram"));
  }
  EXPECT_THAT(shown, ::testing::UnorderedElementsAreArray(table));
}

TEST_F(MetricsPageTest, EverySampleHasTheLabelsOfItsRow) {
  NodeFigures& node = AddNode("a");
  node.subs = {{TELLTALE_CPU, 0, 5}};
  node.losses = {{v1::LOSS_REASON_TOKENS, 9}};
  node.vital_states = {{TELLTALE_LLC, v1::VITAL_STATE_UNAVAILABLE}};
  std::istringstream page(Page());
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with('#')) continue;
    std::string name = line.substr(0, line.find_first_of("{ "));
    for (const std::string suffix : {"_bucket", "_sum", "_count"}) {
      if (name == "telltale_ingest_ack_seconds" + suffix) name = "telltale_ingest_ack_seconds";
    }
    const MetricRow& row = Metric(name);
    if (row.type == MetricType::kHistogram) continue;
    for (const std::string& label : row.labels) EXPECT_THAT(line, HasSubstr(label + "=\"")) << line;
    EXPECT_EQ(static_cast<size_t>(std::ranges::count(line, '=')), row.labels.size()) << line;
  }
}

TEST_F(MetricsPageTest, OnlyFiltersWithAProcessOfTheirOwnHaveItsFigures) {
  const std::string page = Page();
  for (const char* line : {"telltale_filter_epochs_unreadable_total{filter=\"ewma\"} 6",
                           "telltale_filter_outputs_dropped_total{filter=\"ewma\"} 4",
                           "telltale_filter_disabled{filter=\"mine\"} 1",
                           "telltale_filter_failures_total{filter=\"mine\"} 3",
                           "telltale_filter_cpu_seconds_total{filter=\"mine\"} 1.25",
                           "telltale_filter_memory_bytes{filter=\"mine\"} 4096"}) {
    EXPECT_THAT(page, HasSubstr(line));
  }
  EXPECT_THAT(page, ::testing::Not(HasSubstr("telltale_filter_disabled{filter=\"ewma\"}")));
}

TEST_F(MetricsPageTest, TheDoorTellsWhoIsInWhoWaitsAndWhoWasRefused) {
  const std::string page = Page();
  for (const char* line : {"telltale_grpc_connections 3\n", "telltale_grpc_connections_waiting 4\n",
                           "telltale_grpc_refused_total{reason=\"flood\"} 5\n"}) {
    EXPECT_THAT(page, HasSubstr(line));
  }
}

TEST_F(MetricsPageTest, WindowsNotComputedAreCountedByWhatBecomesOfThem) {
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("\ntelltale_rollup_errors_total 8\n"));
  EXPECT_THAT(page, HasSubstr("\ntelltale_rollup_windows_expired_total 9\n"));
}

TEST_F(MetricsPageTest, UserStacksAreCountedByHowTheyEnded) {
  AddNode("a").user_stacks = {{v1::STACK_END_COMPLETE, 970}, {v1::STACK_END_WINDOW, 30}, {60, 1}};
  const std::string page = Page();
  for (const char* line : {"{node=\"a\",end=\"complete\"} 970", "{node=\"a\",end=\"window\"} 30",
                           "{node=\"a\",end=\"end_60\"} 1"}) {
    EXPECT_THAT(page, HasSubstr(std::string("telltale_node_user_stacks_total") + line));
  }
}

TEST_F(MetricsPageTest, UserFramesAreCountedByWhatTheyAreCalled) {
  AddNode("a").user_frames = {
      {v1::NAME_OUTCOME_NAMED, 970}, {v1::NAME_OUTCOME_NO_PERF_MAP, 30}, {60, 1}};
  const std::string page = Page();
  for (const char* line :
       {"{node=\"a\",name=\"named\"} 970", "{node=\"a\",name=\"no_perf_map\"} 30",
        "{node=\"a\",name=\"outcome_60\"} 1"}) {
    EXPECT_THAT(page, HasSubstr(std::string("telltale_node_user_frames_total") + line));
  }
}

TEST_F(MetricsPageTest, DiskAndCertificatesAreShownAsFarAsTheyAreKnown) {
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("telltale_store_disk_free_bytes 1000\n"));
  EXPECT_THAT(page, HasSubstr("telltale_store_disk_size_bytes 5000\n"));
  EXPECT_THAT(page, HasSubstr("telltale_certificate_end_seconds{of=\"collector\"} 1800000000\n"));
  EXPECT_THAT(page, Not(HasSubstr("\ntelltale_tls_crl_next_update_timestamp_seconds ")));
  sources_.crl_next_update = [] { return 1800000001; };
  EXPECT_THAT(Page(), HasSubstr("\ntelltale_tls_crl_next_update_timestamp_seconds 1800000001\n"));
  sources_.disk = [] { return std::nullopt; };
  EXPECT_THAT(Page(), Not(HasSubstr("\ntelltale_store_disk_free_bytes ")));
}

TEST_F(MetricsPageTest, TheTableInTheDocumentIsTheOneInTheCode) {
  const char* rewrite = std::getenv("TELLTALE_REWRITE");
  if (rewrite != nullptr) std::ofstream("collector/metrics/METRICS.md") << MetricTableMarkdown();
  std::ifstream file("collector/metrics/METRICS.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), MetricTableMarkdown())
      << "run this test with TELLTALE_REWRITE=1 and look at the difference";
}

TEST_F(MetricsPageTest, PromtoolFindsNothingToComplainAbout) {
  if (std::system("command -v promtool >/dev/null") != 0) {
    GTEST_SKIP() << "promtool is not installed (Debian: prometheus)";
  }
  NodeFigures& node = AddNode("a");
  for (const sketch::Vital& vital : sketch::Vitals()) {
    node.subs.push_back({vital.id, 0, 12345});
    node.vital_states.emplace_back(vital.id, v1::VITAL_STATE_ACTIVE);
  }
  node.losses = {{v1::LOSS_REASON_TOKENS, 9}};
  Page();
  node.epochs = 2;
  const std::string dir = ::testing::TempDir();
  const std::string page = dir + "/metrics.txt", said = dir + "/promtool.txt";
  std::ofstream(page) << Page();
  const int result =
      std::system(("promtool check metrics < " + page + " > " + said + " 2>&1").c_str());
  std::stringstream complaints;
  complaints << std::ifstream(said).rdbuf();
  EXPECT_EQ(result, 0) << complaints.str();
  EXPECT_EQ(complaints.str(), "");
}

TEST_F(MetricsPageTest, NanosecondsBecomeExactSeconds) {
  AddNode("a").subs = {{TELLTALE_CPU, 0, 123'456'789'012'345'678}};
  EXPECT_THAT(Page(), HasSubstr("telltale_cpu_seconds_total{node=\"a\",sub=\"user\"} "
                                "123456789.012345678\n"));
}

TEST_F(MetricsPageTest, TheFleetsSumIsExactBeyond64Bits) {
  for (int i = 0; i < 3; ++i) AddNode(absl::StrCat("n", i)).subs = {{TELLTALE_CPU, 1, ~0ull}};
  EXPECT_THAT(Page(),
              HasSubstr("telltale_fleet_cpu_seconds_total{group=\"default\",sub=\"kernel\"} "
                        "55340232221.128654845\n"));
}

TEST_F(MetricsPageTest, CountsNodesByStateAndGroup) {
  AddNode("a").group = "db";
  NodeFigures& silent = AddNode("b");
  silent.group = "db";
  silent.state = v1::NODE_STATE_SILENT;
  AddNode("c").vital_states = {{TELLTALE_LLC, v1::VITAL_STATE_UNAVAILABLE}};
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("telltale_fleet_nodes{group=\"db\",state=\"reporting\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("telltale_fleet_nodes{group=\"db\",state=\"silent\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("telltale_fleet_nodes_degraded{group=\"db\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("telltale_fleet_nodes_degraded{group=\"default\"} 1\n"));
}

TEST_F(MetricsPageTest, CountsAgentsThatWatchLessAndThoseThatTakeTooMuchAllTheSame) {
  AddNode("within").cost_ppm = 10'000;
  NodeFigures& down = AddNode("turned-down");
  down.part_level = {0, 2};
  down.cost_ppm = 11'900;
  AddNode("over").cost_ppm = 12'100;
  NodeFigures& gone = AddNode("gone");
  gone.state = v1::NODE_STATE_SILENT;
  gone.cost_ppm = 500'000;
  gone.part_level = {1};
  for (NodeFigures& node : nodes_) node.limit_ppm = 12'000;
  AddNode("no-budget").cost_ppm = 500'000;
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("telltale_fleet_agents_turned_down{group=\"default\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("telltale_fleet_agents_over_budget{group=\"default\"} 1\n"));
}

TEST_F(MetricsPageTest, QuantilesOverNodesAreOfTheRateSinceTheScrapeBefore) {
  for (uint64_t i = 1; i <= 10; ++i) {
    AddNode(absl::StrCat("n", i)).subs = {{TELLTALE_CPU, 0, 100 * kSecond}};
  }
  EXPECT_THAT(Page(), Not(HasSubstr("telltale_fleet_cpu_seconds_per_second{")));
  for (uint64_t i = 1; i <= 10; ++i) {
    nodes_[i - 1].epochs += 2;                        // 20 s
    nodes_[i - 1].subs[0].weight += i * 2 * kSecond;  // i / 10 CPUs
  }
  const std::string page = Page();
  const std::string rate = "telltale_fleet_cpu_seconds_per_second{group=\"default\",q=";
  EXPECT_THAT(page, HasSubstr(rate + "\"0.5\"} 0.5\n"));
  EXPECT_THAT(page, HasSubstr(rate + "\"0.9\"} 0.9\n"));
  EXPECT_THAT(page, HasSubstr(rate + "\"1\"} 1\n"));
  // A scrape between two epochs keeps the rates of the last ones.
  EXPECT_THAT(Page(), HasSubstr(rate + "\"1\"} 1\n"));
}

TEST_F(MetricsPageTest, IdleWaitsAreCountedButAreNoRate) {
  NodeFigures& node = AddNode("a");
  node.subs = {{TELLTALE_BLOCKING, 0, 0}, {TELLTALE_BLOCKING, 5, 0}};
  Page();
  node.epochs += 1;
  node.subs = {{TELLTALE_BLOCKING, 0, kSecond}, {TELLTALE_BLOCKING, 5, 70 * kSecond}};
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("telltale_blocking_seconds_total{node=\"a\",sub=\"poll\"} 70\n"));
  EXPECT_THAT(
      page,
      HasSubstr("telltale_fleet_blocking_seconds_per_second{group=\"default\",q=\"1\"} 0.1\n"));
}

TEST_F(MetricsPageTest, AboveTheLimitTheMostAnomalousNodesAreShown) {
  for (const char* name : {"a", "b", "c", "d"}) AddNode(name);
  sources_.recent_anomalies = [](uint32_t number) { return number == 3 ? 5 : 0; };
  const std::string page = Page(2);
  EXPECT_THAT(page, HasSubstr("telltale_node_reporting{node=\"c\"}"));
  EXPECT_THAT(page, HasSubstr("telltale_node_reporting{node=\"a\"}"));
  EXPECT_THAT(page, Not(HasSubstr("{node=\"b\"")));
  EXPECT_THAT(page, HasSubstr("telltale_nodes_without_metrics 2\n"));
  EXPECT_THAT(page, HasSubstr("telltale_epochs_received_total 4\n"));
}

TEST_F(MetricsPageTest, OfTenThousandNodesThePageIsWholeAndItsPiecesAreSmall) {
  constexpr size_t kNodes = 10'000;
  const auto add = [this](size_t nodes) {
    while (nodes_.size() < nodes) {
      NodeFigures& node = AddNode(absl::StrCat("node-", nodes_.size()));
      for (const sketch::Vital& vital : sketch::Vitals()) {
        for (uint8_t sub = 0; sub < vital.subs.size(); ++sub) {
          node.subs.push_back({vital.id, sub, kSecond});
        }
        node.vital_states.emplace_back(vital.id, v1::VITAL_STATE_ACTIVE);
      }
    }
  };
  add(1);
  std::map<std::string, size_t> expected = SamplesOf(Page(kNodes));
  for (auto& [name, samples] : expected) samples *= name.ends_with("{node") ? kNodes : 1;
  add(kNodes);
  const auto begun = std::chrono::steady_clock::now();
  const std::string page = Page(kNodes);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
  std::printf("%zu nodes: %zu MiB in %.0f ms\n", kNodes, page.size() >> 20, took.count());
  EXPECT_EQ(SamplesOf(page), expected);
  EXPECT_THAT(page, HasSubstr("telltale_nodes_without_metrics 0\n"));
  EXPECT_EQ(page.back(), '\n');
}

TEST_F(MetricsPageTest, HostileLabelValuesCannotEndTheirQuotes) {
  AddNode("a").group = "x\"} 1\nevil_metric 2\\";
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("group=\"x\\\"} 1\\nevil_metric 2\\\\\""));
  EXPECT_THAT(page, Not(HasSubstr("\nevil_metric")));
}

TEST_F(MetricsPageTest, ManyGroupsAreBounded) {
  for (int i = 0; i < 200; ++i) AddNode(absl::StrCat("n", i)).group = absl::StrCat("g", i);
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("telltale_fleet_nodes{group=\"(other)\",state=\"reporting\"} 136\n"));
}

TEST_F(MetricsPageTest, AVitalOnlyNodesKnowIsShownUnderItsId) {
  sources_.local_vitals = [] {
    return std::vector<VitalNames>{
        {70, "cpu", sketch::Unit::kNanoseconds, "something else", {{"hot", false}}}};
  };
  AddNode("a").subs = {{70, 0, kSecond}, {70, 1, kSecond}};
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("telltale_vital70_cpu_seconds_total{node=\"a\",sub=\"hot\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("telltale_vital70_cpu_seconds_total{node=\"a\",sub=\"sub1\"} 1\n"));
}

TEST_F(MetricsPageTest, HistogramBucketsAreCumulative) {
  EXPECT_THAT(Page(), HasSubstr("telltale_ingest_ack_seconds_bucket{le=\"0.001\"} 5\n"
                                "telltale_ingest_ack_seconds_bucket{le=\"0.01\"} 8\n"
                                "telltale_ingest_ack_seconds_bucket{le=\"+Inf\"} 9\n"
                                "telltale_ingest_ack_seconds_sum 0.5\n"
                                "telltale_ingest_ack_seconds_count 9\n"));
}

TEST_F(MetricsPageTest, WithoutProcThereIsNoFalseZero) {
  sources_.process_dir = "/nonexistent";
  EXPECT_THAT(Page(), Not(ContainsRegex("\nprocess_cpu_seconds_total ")));
  sources_.process_dir = "/proc/self";
  EXPECT_THAT(Page(), ContainsRegex("\nprocess_resident_memory_bytes [1-9]"));
}

TEST(ScaledTest, IsExactAndShort) {
  EXPECT_EQ(Scaled(0, 9), "0");
  EXPECT_EQ(Scaled(1, 9), "0.000000001");
  EXPECT_EQ(Scaled(1'500'000'000, 9), "1.5");
  EXPECT_EQ(Scaled(2'000'000'000, 9), "2");
  EXPECT_EQ(Scaled(12'034'500'000'000, 9), "12034.5");
  EXPECT_EQ(Scaled(70, 0), "70");
}

TEST(ScaledTest, IsExactBeyond64Bits) {
  EXPECT_EQ(Integer(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(Integer(Wide{UINT64_MAX} + 1), "18446744073709551616");
  EXPECT_EQ(Integer(Wide{UINT64_MAX} * 1000 + 7), "18446744073709551615007");
  EXPECT_EQ(Scaled(Wide{UINT64_MAX} * 10 + 7, 9), "184467440737.095516157");
}

TEST(QuantileTest, IsAValueThatOccurs) {
  EXPECT_EQ(Quantile({}, 0.5), 0);
  EXPECT_EQ(Quantile({3}, 0.5), 3);
  EXPECT_EQ(Quantile({1, 2, 3, 4}, 0.5), 2);
  EXPECT_EQ(Quantile({1, 2, 3, 4}, 0.99), 4);
  EXPECT_EQ(Quantile({1, 2, 3, 4}, 1), 4);
}

}  // namespace
}  // namespace telltale::metrics
