// The committed dashboards are those of the code, and dashboards and alert rules speak of metrics
// that are in the table only. That each panel shows data is seen by deploy/dashboards_live_test.py.

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "collector/metrics/metric_table.h"
#include "deploy/grafana/dashboard.h"

namespace telltale::grafana {
namespace {

std::string Read(const std::string& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Words that look like one of our metrics.
std::set<std::string> MetricsIn(const std::string& text) {
  std::set<std::string> found;
  for (size_t at = text.find("telltale_"); at != std::string::npos;
       at = text.find("telltale_", at + 1)) {
    size_t end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
      ++end;
    }
    found.insert(text.substr(at, end - at));
  }
  return found;
}

bool IsInTable(const std::string& name) {
  for (const metrics::MetricRow& row : metrics::MetricTable()) {
    if (row.name == name) return true;
    const bool histogram = row.type == metrics::MetricType::kHistogram;
    for (const char* suffix : {"_bucket", "_sum", "_count"}) {
      if (histogram && absl::StrCat(row.name, suffix) == name) return true;
    }
  }
  return false;
}

TEST(DashboardsTest, TheCommittedFilesAreThoseOfTheCode) {
  for (const Dashboard& dashboard : AllDashboards()) {
    const std::string file = absl::StrCat("deploy/grafana/dashboards/", dashboard.uid, ".json");
    if (std::getenv("TELLTALE_REWRITE") != nullptr) std::ofstream(file) << ToJson(dashboard);
    EXPECT_TRUE(Read(file) == ToJson(dashboard))
        << file << ": run this test with TELLTALE_REWRITE=1 and look at the difference";
  }
}

TEST(DashboardsTest, AlertRulesSpeakOfMetricsInTheTable) {
  const std::string rules = Read("deploy/prometheus/telltale.rules.yml");
  const std::set<std::string> names = MetricsIn(rules);
  EXPECT_GT(names.size(), 8u);
  for (const std::string& name : names) EXPECT_TRUE(IsInTable(name)) << name;
}

TEST(DashboardsTest, EachAlertSaysWhatToDoAndIsTested) {
  const std::string rules = Read("deploy/prometheus/telltale.rules.yml");
  const std::string tests = Read("deploy/prometheus/telltale.rules.test.yml");
  std::istringstream lines(rules);
  int alerts = 0, descriptions = 0;
  for (std::string line; std::getline(lines, line);) {
    absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
    if (absl::StartsWith(text, "description: \"")) ++descriptions;
    if (!absl::ConsumePrefix(&text, "- alert: ")) continue;
    ++alerts;
    EXPECT_TRUE(absl::StrContains(tests, absl::StrCat("alertname=\"", text, "\""))) << text;
  }
  EXPECT_GT(alerts, 10);
  EXPECT_EQ(alerts, descriptions);
}

}  // namespace
}  // namespace telltale::grafana
