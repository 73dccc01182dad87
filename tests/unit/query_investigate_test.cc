// From "something was odd" to the minute, the process and the code; and silence where nothing was.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBegin = 1'000'000, kMinutes = 100, kOdd = 80;  // minutes
constexpr uint64_t kOddAt = kBegin + kOdd * 60;
constexpr double kAsked = kOddAt - 300;

struct Doing {
  std::string exe = "/bin/usual";
  uint64_t ms = 3000;  // of processor time in a minute
};

v1::SummaryBody MinuteOf(const Doing& odd, uint64_t minute) {
  BodyMaker maker;
  const uint64_t usual_ms = 3000 + minute % 7 * 10, all_ms = usual_ms + odd.ms;
  v1::Vital* cpu = maker.Vital(TELLTALE_CPU, {all_ms * 1'000'000, 0, 0});
  maker.Columns({ShareColumn(TELLTALE_CPU, 0)});
  maker.Process("/bin/usual", 7, 0, {usual_ms * 1'000'000});
  if (odd.ms > 0) {
    maker.Process(odd.exe, 4242, 1000, {odd.ms * 1'000'000});
    const uint32_t stack =
        maker.Stack({}, {maker.Frame("id", odd.exe, 0x100), maker.Frame("id", odd.exe, 0x900)});
    maker.Sample(cpu, odd.exe, stack, odd.ms * 1'000'000, odd.ms * 900'000, odd.ms * 1'000'000, 1);
  }
  return maker.body();
}

class Marks : public MarkSource {
 public:
  std::vector<v1::Mark> Between(double start_s, double end_s,
                                const std::set<std::string>& nodes) const override {
    std::vector<v1::Mark> list;
    for (const v1::Mark& mark : marks) {
      if (!mark.node().empty() && !nodes.contains(mark.node())) continue;
      if (mark.time_s() >= start_s && mark.time_s() < end_s) list.push_back(mark);
    }
    return list;
  }
  void Add(double time_s, const std::string& text, const std::string& node = "") {
    v1::Mark mark;
    mark.set_time_s(time_s);
    mark.set_text(text);
    mark.set_node(node);
    marks.push_back(mark);
  }
  std::vector<v1::Mark> marks;
};

class InvestigateTest : public ::testing::Test {
 protected:
  void AddNode(const std::string& name, const Doing& odd, uint64_t from = 0,
               uint64_t minutes = kMinutes) {
    const uint32_t node = source_.AddNode(name);
    source_.Node(node).mutable_info()->set_epoch_length_s(60);
    for (uint64_t minute = from; minute < minutes; ++minute) {
      source_.AddEpoch(node, kBegin + minute * 60, 60,
                       MinuteOf(minute == kOdd ? odd : Doing{"", 0}, minute));
    }
  }
  v1::InvestigateRequest Request() const {
    return Asked<v1::InvestigateRequest>(kAsked, kAsked + 600);
  }
  absl::StatusOr<v1::InvestigateAnswer> Ask(const v1::InvestigateRequest& request) const {
    EngineOptions options;
    options.source = &source_;
    options.marks = &marks_;
    options.now_ns = [] { return (kBegin + kMinutes * 60) * kS; };
    return Engine(options).Investigate(request, {});
  }
  v1::InvestigateAnswer Ask() const {
    const auto answer = Ask(Request());
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : v1::InvestigateAnswer();
  }

  FakeSource source_;
  Marks marks_;
};

TEST_F(InvestigateTest, TheMinuteTheProcessAndTheCode) {
  source_.Name("id", 0x100, "burn");
  AddNode("web-1", {"/bin/burner", 45'000});
  const v1::InvestigateAnswer answer = Ask();
  ASSERT_EQ(answer.findings_size(), 1) << answer.DebugString();
  const v1::Finding& finding = answer.findings(0);
  EXPECT_EQ(finding.node(), "web-1");
  EXPECT_EQ(finding.vital(), "cpu");
  EXPECT_EQ(finding.sub(), "user");  // the narrower of two that say the same
  EXPECT_DOUBLE_EQ(finding.start_s(), kOddAt);
  EXPECT_DOUBLE_EQ(finding.end_s(), kOddAt + 60);
  EXPECT_NEAR(finding.value(), 48.0 / 60, 0.01);
  EXPECT_NEAR(finding.usual(), 3.0 / 60, 0.01);
  EXPECT_GT(finding.severity(), 50);
  EXPECT_EQ(finding.past_points(), 60u);
  EXPECT_EQ(finding.past_as_far(), 0u);
  EXPECT_FALSE(finding.waiting());
  ASSERT_EQ(finding.processes().rows_size(), 1) << finding.DebugString();
  EXPECT_EQ(finding.processes().rows(0).row().pid(), 4242u);
  EXPECT_EQ(finding.processes().rows(0).row().exe(), "/bin/burner");
  ASSERT_GE(finding.sites().rows_size(), 1);
  EXPECT_THAT(finding.sites().rows(0).row().name(), HasSubstr("burn"));
  EXPECT_TRUE(finding.sites().rows(0).certain());
  ASSERT_EQ(answer.past_size(), 1);
  EXPECT_EQ(answer.past(0).points(), 60u);
  EXPECT_GT(answer.coverage().watched_s(), 0);
}

TEST_F(InvestigateTest, WhereNothingWasOddNothingIsFound) {
  AddNode("web-1", {"", 0});
  const v1::InvestigateAnswer answer = Ask();
  EXPECT_EQ(answer.findings_size(), 0) << answer.DebugString();
  EXPECT_GT(answer.lines(), answer.unjudged());
}

TEST_F(InvestigateTest, WithoutAPastNothingIsJudged) {
  AddNode("web-1", {"/bin/burner", 45'000}, kOdd - 2, kOdd + 2);
  const v1::InvestigateAnswer answer = Ask();
  EXPECT_EQ(answer.findings_size(), 0);
  EXPECT_GT(answer.lines(), 0u);
  EXPECT_EQ(answer.unjudged(), answer.lines());
}

TEST_F(InvestigateTest, WithLittlePastTheTimeAfterCountsToo) {
  AddNode("web-1", {"/bin/burner", 45'000}, kOdd - 10);  // 5 minutes before what is asked for
  const v1::InvestigateAnswer answer = Ask();
  ASSERT_EQ(answer.findings_size(), 1) << answer.DebugString();
  ASSERT_EQ(answer.past_size(), 2);
  EXPECT_DOUBLE_EQ(answer.past(1).start_s(), kAsked + 600);
  EXPECT_THAT(answer.notes(0), HasSubstr("little past"));
}

TEST_F(InvestigateTest, OfALargeFleetTheFarthestIsLookedAtAndTheOthersWithItAreNamed) {
  for (int i = 0; i < 40; ++i) {
    const bool odd = i % 2 == 0;
    AddNode("web-" + std::to_string(i), {"/bin/burner", odd ? 20'000u + 1000u * i : 0u});
  }
  const v1::InvestigateAnswer answer = Ask();
  EXPECT_EQ(answer.nodes(), 40u);
  EXPECT_EQ(answer.close_nodes_size(), 16);
  EXPECT_THAT(answer.notes(0), HasSubstr("40 nodes were sifted"));
  ASSERT_EQ(answer.findings_size(), 1);  // one for all of them
  EXPECT_EQ(answer.findings(0).node(), "web-38");
  EXPECT_EQ(answer.findings(0).also_nodes(), 19u);
  EXPECT_EQ(answer.findings(0).processes().rows(0).row().exe(), "/bin/burner");
}

// A hundredth of a waiting second is rare where nobody ever waits; a sixth of a processor matters.
TEST_F(InvestigateTest, WhatIsRareAndNextToNothingDoesNotComeFirst) {
  const uint32_t node = source_.AddNode("web-1");
  source_.Node(node).mutable_info()->set_epoch_length_s(60);
  for (uint64_t minute = 0; minute < kMinutes; ++minute) {
    const bool odd = minute == kOdd;
    BodyMaker maker;
    maker.Vital(TELLTALE_CPU, {(3000 + (odd ? 9000 : 0)) * 1'000'000ull, 0, 0});
    maker.Vital(TELLTALE_LOCK, {odd ? 600'000'000ull : 0});
    source_.AddEpoch(node, kBegin + minute * 60, 60, maker.body());
  }
  const v1::InvestigateAnswer answer = Ask();
  ASSERT_EQ(answer.findings_size(), 2) << answer.DebugString();
  EXPECT_EQ(answer.findings(0).vital(), "cpu");
  EXPECT_EQ(answer.findings(1).vital(), "lock");
  EXPECT_GT(answer.findings(1).severity(), answer.findings(0).severity());
}

// Forty newer symptoms do not hide the one line that says what was wrong.
TEST_F(InvestigateTest, DiagnosesComeBeforeWhatWasMerelyUnusual) {
  class Found : public AnomalySource {
   public:
    absl::StatusOr<v1::AnomaliesAnswer> List(const v1::AnomaliesRequest& request, const Selection&,
                                             const Cancelled&) const override {
      v1::AnomaliesAnswer answer;
      for (uint32_t i = 0; i <= 40 && i < request.limit(); ++i) {
        v1::Anomaly& anomaly = *answer.add_anomalies();
        anomaly.set_node("web-1");
        anomaly.set_rule(i == 40 ? 1 : 0);
        anomaly.set_start_s(kOddAt - i);
      }
      return answer;
    }
    absl::StatusOr<std::vector<v1::Anomaly>> After(const std::string&, size_t) const override {
      return std::vector<v1::Anomaly>{};
    }
    std::string Newest() const override { return ""; }
    absl::StatusOr<v1::FilterSeriesAnswer> Series(const v1::FilterSeriesRequest&, const Selection&,
                                                  const Cancelled&) const override {
      return v1::FilterSeriesAnswer();
    }
  };
  AddNode("web-1", {"", 0});
  const Found found;
  EngineOptions options;
  options.source = &source_;
  options.anomalies = &found;
  options.now_ns = [] { return (kBegin + kMinutes * 60) * kS; };
  const auto answer = Engine(options).Investigate(Request(), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->anomalies_size(), 12);
  EXPECT_EQ(answer->anomalies(0).rule(), 1u);
  EXPECT_DOUBLE_EQ(answer->anomalies(1).start_s(), kOddAt);
}

// What was lost in a long time is known by windows or by the series, and told.
TEST_F(InvestigateTest, WhatWasLostInALongTimeIsTold) {
  const uint32_t node = source_.AddNode("web-1");
  for (uint64_t minute = 0; minute < kMinutes; ++minute) {
    v1::SummaryBody body = MinuteOf({"", 0}, minute);
    if (minute == 90) {
      v1::Loss& loss = *body.add_losses();
      loss.set_reason(v1::LOSS_REASON_RING_FULL);
      loss.set_events(1'234);
    }
    source_.AddEpoch(node, kBegin + minute * 60, 60, body);
  }
  for (const double minutes : {30, 150}) {
    const double end = kBegin + 100 * 60;
    const auto answer = Ask(Asked<v1::InvestigateRequest>(end - minutes * 60, end));
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->coverage().lost_events_size(), 1) << minutes;
    EXPECT_EQ(answer->coverage().lost_events(0).events(), 1'234);
  }
}

TEST_F(InvestigateTest, WhatIsTelltalesOwnCanBeHidden) {
  AddNode("web-1", {"/usr/bin/telltale-agent", 45'000});
  EXPECT_EQ(Ask().findings_size(), 1);
  v1::InvestigateRequest request = Request();
  request.set_hide_self(true);
  const auto answer = Ask(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->findings_size(), 0);
  EXPECT_THAT(answer->notes(0), HasSubstr("most of it by Telltale itself"));
}

TEST_F(InvestigateTest, NotesOfTheHourBeforeAndOfTheNodesAsked) {
  AddNode("web-1", {"/bin/burner", 45'000});
  AddNode("web-2", {"", 0});
  marks_.Add(kAsked - 3700, "too early");
  marks_.Add(kAsked - 3500, "deploy 1.2");
  marks_.Add(kAsked, "of another", "web-2");
  marks_.Add(kAsked + 1, "of it", "web-1");
  marks_.Add(kAsked + 601, "too late");
  v1::InvestigateRequest request = Request();
  request.mutable_selection()->add_nodes("web-1");
  const auto answer = Ask(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->marks_size(), 2) << answer->DebugString();
  EXPECT_EQ(answer->marks(0).text(), "deploy 1.2");
  EXPECT_EQ(answer->marks(1).text(), "of it");
}

TEST_F(InvestigateTest, WhatItCannotAnswerItRefuses) {
  AddNode("web-1", {"", 0});
  v1::InvestigateRequest request = Request();
  request.mutable_selection()->set_start_s(kAsked - 86'400);
  EXPECT_THAT(std::string(Ask(request).status().message()), HasSubstr("more than a day"));
  request = Request();
  request.set_limit(21);
  EXPECT_THAT(std::string(Ask(request).status().message()), HasSubstr("above 20"));
  request = Request();
  request.mutable_selection()->add_nodes("web-9");
  EXPECT_EQ(Ask(request).status().code(), absl::StatusCode::kNotFound);
  request = Asked<v1::InvestigateRequest>(kBegin + 1e6, kBegin + 2e6);
  EXPECT_EQ(Ask(request).status().code(), absl::StatusCode::kInvalidArgument);
}

// Rows of our own give way to others', and the shares add up without them.
TEST_F(InvestigateTest, HiddenRowsAreInNoTotal) {
  AddNode("web-1", {"/opt/telltale-collector", 9'000});
  v1::TopRequest request = Asked<v1::TopRequest>(kOddAt, kOddAt + 60);
  request.set_vital("cpu");
  request.set_by(v1::DIMENSION_EXE);
  request.set_hide_self(true);
  const Engine engine = MakeEngine(source_, kBegin + kMinutes * 60);
  const auto top = engine.Top(request, {});
  ASSERT_TRUE(top.ok()) << top.status();
  const v1::TopTable& table = top->tables(0);
  EXPECT_NEAR(table.hidden(), 9, 1e-9);
  EXPECT_NEAR(table.total(), 3.03, 0.1);
  ASSERT_EQ(table.rows_size(), 1);
  EXPECT_EQ(table.rows(0).exe(), "/bin/usual");
  EXPECT_NEAR(table.rows(0).share(), 1, 1e-9);
  request.set_by(v1::DIMENSION_NODE);
  EXPECT_THAT(std::string(engine.Top(request, {}).status().message()),
              HasSubstr("cannot be hidden"));
}

TEST_F(InvestigateTest, HiddenStacksAreInNoTotal) {
  AddNode("web-1", {"/opt/telltale", 9'000});
  v1::StacksRequest request = Asked<v1::StacksRequest>(kOddAt, kOddAt + 60);
  request.set_vital("cpu");
  const Engine engine = MakeEngine(source_, kBegin + kMinutes * 60);
  const auto all = engine.Stacks(request, {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->stacks_size(), 1);
  EXPECT_DOUBLE_EQ(all->hidden(), 0);
  request.set_hide_self(true);
  const auto others = engine.Stacks(request, {});
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_EQ(others->stacks_size(), 0);
  EXPECT_GT(others->hidden(), 8);
  EXPECT_NEAR(others->total() + others->hidden(), all->total(), 1e-9);
}

}  // namespace
}  // namespace telltale::query
