// What answers say on a terminal so that nobody misreads them, and what they propose to type next.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "collector/cli/commands.h"
#include "collector/cli/render.h"
#include "collector/cli/retyped.h"
#include "collector/cli/terminal_text.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::TimeZone kZone = absl::FixedTimeZone(3600);  // UTC+1
const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 20, 12, 0, 0), kZone);

View Plain() { return {Style{}, kZone, kNow}; }

TEST(RenderTest, ASecondThatMayNeverHaveBeenIsNotShown) {
  v1::SeriesAnswer answer;
  for (const char* vital : {"cpu", "blocking"}) {
    v1::Series& series = *answer.add_series();
    series.set_vital(vital);
    series.set_unit("s");
    series.add_start_s(1e9);
    series.add_length_s(60);
    series.add_rate(1.5);
    series.add_min(0.86);
    series.add_max(2.93);
    series.add_watched(1);
  }
  answer.mutable_series(0)->add_bounds(true);
  const std::string several = RenderSeries(answer, Plain());
  EXPECT_THAT(several, Not(HasSubstr("2.93 CPUs")));
  EXPECT_THAT(several, HasSubstr("2.93 waiting"));
  EXPECT_THAT(several, HasSubstr("no figure"));
  answer.mutable_series()->RemoveLast();
  const std::string one = RenderSeries(answer, Plain());
  EXPECT_THAT(one, Not(HasSubstr("2.93")));
  EXPECT_THAT(one, Not(HasSubstr("0.86")));
  EXPECT_THAT(one, HasSubstr("no figure"));
}

TEST(RenderTest, AnInterruptIsOfNoProcess) {
  v1::SamplesAnswer answer;
  v1::SampleAnswer& sample = *answer.add_samples();
  sample.set_exe("[irq]");
  sample.set_node("db-1");
  sample.set_cpu(3);
  EXPECT_THAT(RenderSamples(answer, Plain()), HasSubstr("  [irq] on db-1 CPU 3\n"));
}

TEST(RenderTest, StacksOfOneProcessSayWhatTheirSharesAreOf) {
  v1::StacksAnswer answer;
  answer.set_unit("s");
  answer.set_total(1000);
  answer.set_process("render");
  v1::StackWeight& stack = *answer.add_stacks();
  stack.set_value(11);
  stack.set_low(11);
  stack.set_high(11);
  const std::string text = RenderStacks(answer, Plain());
  EXPECT_THAT(text, HasSubstr("these of render: 11.0 s, 1.1 %; of all processes: 16.7 min, which "
                              "shares are of\n"));
  EXPECT_THAT(text, Not(HasSubstr("between")));  // bounds without width
}

TEST(RenderTest, LossesAreInWordsWhereverTheyStand) {
  v1::CoverageAnswer answer;
  for (const char* reason : {"duty", "recursion"}) {
    v1::ReasonCount& lost = *answer.mutable_coverage()->add_lost_events();
    lost.set_reason(reason);
    lost.set_events(1);
    lost.set_vital("cpu");
  }
  v1::NameCount& frames = *answer.mutable_coverage()->add_user_frames();
  frames.set_outcome("no_symbol");
  frames.set_frames(5);
  const std::string text = RenderGaps(answer, Plain());
  EXPECT_THAT(text, HasSubstr("events not looked at, to stay within the agent's budget  cpu"));
  EXPECT_THAT(text, HasSubstr("1 event inside the sensor itself"));
  EXPECT_THAT(text, HasSubstr("without a name: in stripped files"));
  for (const char* code : {"duty", "recursion", "no_symbol"}) {
    EXPECT_THAT(text, Not(HasSubstr(code))) << code;
  }
}

TEST(RenderTest, CoverageTellsWhatTheSensorMissedOfTheLabelsItChecked) {
  v1::CoverageAnswer answer;
  EXPECT_THAT(RenderGaps(answer, Plain()), Not(HasSubstr("checked")));
  v1::ControlGroup& group = *answer.mutable_coverage()->add_control();
  group.set_vital("user_page");
  group.set_heavy(400);
  group.set_heavy_missed(2);
  group.set_heavy_unlisted(40);
  const std::string text = RenderGaps(answer, Plain());
  EXPECT_THAT(text, HasSubstr("checked label by label"));
  EXPECT_THAT(text, ContainsRegex("400 +2 +0.5 % +40 +10.0 % +user_page"));
}

TEST(RenderTest, CoverageTellsWhenTheAgentWatchedLess) {
  v1::CoverageAnswer answer;
  EXPECT_THAT(RenderGaps(answer, Plain()), Not(HasSubstr("turned down")));
  v1::Coverage& coverage = *answer.mutable_coverage();
  const auto add = [&](const std::vector<std::string>& vitals, const char* knob, double from,
                       double to) {
    v1::KnobStep& step = *coverage.add_steps();
    step.mutable_vitals()->Assign(vitals.begin(), vitals.end());
    step.set_knob(knob);
    step.set_from(from);
    step.set_to(to);
    step.set_time_s(static_cast<double>(absl::ToUnixSeconds(kNow)) - 60 + coverage.steps_size());
    step.set_node("db-1");
  };
  const std::vector<std::string> many(14, "cpu");
  add({"syscall"}, "watched", 1, 0.125);
  add({"syscall"}, "watched", 0.125, 1);
  add({"cpu"}, "t", 2, 4);
  add(many, "tokens", 2'000, 1'000);
  add(many, "stacks", 2, 0);
  add({"sched_delay", "blocking"}, "waits", 2, 1);
  add({"sched_delay", "blocking", "lock", "reclaim"}, "least_run", 0, 0.004);
  add(many, "attached", 1, 0);
  add({"cpu"}, "\x1bnew", 1, 2);
  coverage.set_steps_left_out(3);
  const std::string text = RenderGaps(answer, Plain());
  EXPECT_THAT(text, HasSubstr("to stay within the agent's budget\n"));
  EXPECT_THAT(text, ContainsRegex("\n  [0-9:]+:01 syscall: watched 1/8 of the time, before all of "
                                  "it\n"));
  for (const char* line :
       {":02 syscall: watched all of the time, before 1/8 of it\n", ":03 cpu: t is 4, before 2\n",
        ":04 14 vitals: 1,000 samples a second at most, before 2,000\n",
        ":05 14 vitals: no user stacks, before user stacks as long as configured\n",
        ":06 sched_delay, blocking: no stacks of waits and no wakers, before switches watched with "
        "stacks and wakers\n",
        ":07 sched_delay, blocking, lock, reclaim: tasks that have run for less than 4.00 ms not "
        "followed, before all tasks followed\n",
        ":08 14 vitals: the sensor is taken off\n", "new 2, before 1\n",
        "and 3 more steps; ask for a shorter time to see them\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("db-1")));
  coverage.set_nodes_selected(2);
  EXPECT_THAT(RenderGaps(answer, Plain()), HasSubstr(":01 db-1 syscall: watched"));
}

TEST(RenderTest, AVersionOfAFilterIsCalledOne) {
  v1::StatusAnswer answer;
  v1::FilterStatus& filter = *answer.add_filters();
  filter.set_name("leak");
  filter.set_version(4);
  const std::string text = RenderStatus(answer, Plain());
  EXPECT_THAT(text, HasSubstr("version"));
  EXPECT_THAT(text, Not(HasSubstr("leak 4")));
}

TEST(RenderTest, WithoutAnIncidentItSaysWhatCannotBeFoundYet) {
  v1::AnomaliesAnswer learning;
  v1::FilterLearning& one = *learning.add_learning();
  one.set_filter("leak");
  one.set_node("db-1");
  one.set_learned_epochs(1);
  one.set_needed_epochs(30);
  EXPECT_THAT(RenderIncidents({}, Plain(), learning),
              HasSubstr("no incident is open\ndb-1  still learning: leak 1 of 30 epochs\n"));
}

v1::ListIncidentsAnswer OpenIncidents(int shown, uint64_t open) {
  v1::ListIncidentsAnswer answer;
  for (int i = 0; i < shown; ++i) answer.add_incidents()->set_state("open");
  answer.set_open(open);
  return answer;
}

TEST(RenderTest, WithoutAnIncidentItSaysThatThereIsSomethingUnusual) {
  v1::ListIncidentsAnswer answer;
  answer.set_hints(1);
  EXPECT_THAT(RenderIncidents(answer, Plain()),
              HasSubstr("1 thing was unusual in the last ten minutes and belongs to no incident: "
                        "telltale anomalies --from -10min\n"));
  answer.set_hints(1200);
  EXPECT_THAT(RenderIncidents(answer, Plain()),
              HasSubstr("1,200 things were unusual in the last ten minutes and belong to no"));
}

TEST(RenderTest, OpenIncidentsBeyondTheLimitAreCounted) {
  EXPECT_THAT(RenderIncidents(OpenIncidents(2, 2), Plain()), Not(HasSubstr("more")));
  EXPECT_THAT(RenderIncidents(OpenIncidents(2, 3), Plain()),
              HasSubstr("1 more is open; --limit shows them\n"));
  EXPECT_THAT(RenderIncidents(OpenIncidents(1000, 1012), Plain()),
              HasSubstr("12 more are open, beyond the 1,000 that a list has\n"));
  // Who lists acknowledged or silenced ones, too, sees as many open ones less.
  v1::ListIncidentsAnswer mixed = OpenIncidents(2, 3);
  mixed.add_incidents()->set_state("acknowledged");
  mixed.add_incidents()->set_state("open");
  mixed.mutable_incidents(3)->set_silenced(true);
  mixed.set_acknowledged(1);
  EXPECT_THAT(RenderIncidents(mixed, Plain()), HasSubstr("1 more is open; --limit"));
}

TEST(RenderTest, AcknowledgedIncidentsBeyondTheLimitAreCountedToo) {
  v1::ListIncidentsAnswer answer = OpenIncidents(2, 5);
  answer.set_acknowledged(4);
  EXPECT_THAT(RenderIncidents(answer, Plain()),
              HasSubstr("3 more are open, 4 acknowledged; --limit shows them\n"));
  answer.set_open(2);
  answer.add_incidents()->set_state("acknowledged");
  EXPECT_THAT(RenderIncidents(answer, Plain()),
              HasSubstr("3 more are acknowledged; --limit shows them\n"));
}

// Else the one who follows believes that he sees what he asked for.
TEST(FollowTest, FlagsThatWouldDoNothingAreRefusedByName) {
  const auto refused = [](const std::function<void(Arguments&)>& type) {
    Arguments arguments;
    arguments.follow = true;
    type(arguments);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(RunAnomalies(arguments), kUsage);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(refused([](Arguments& a) { a.range.from = "-1h"; }),
              HasSubstr("--from does nothing with --follow"));
  EXPECT_THAT(refused([](Arguments& a) { a.range.to = "now"; }),
              HasSubstr("--to does nothing with --follow"));
  EXPECT_THAT(refused([](Arguments& a) { a.limit = 5; }),
              HasSubstr("--limit does nothing with --follow"));
  EXPECT_THAT(refused([](Arguments& a) { a.output = "csv"; }),
              HasSubstr("-o \"csv\": with --follow it must be table or json"));
}

TEST(RenderTest, TimesSayWhichZoneTheyAreIn) {
  v1::ListIncidentsAnswer incidents;
  incidents.add_incidents()->set_number(1);
  EXPECT_THAT(RenderIncidents(incidents, Plain()), HasSubstr("times are UTC+1\n"));
  EXPECT_THAT(RenderIncident(incidents.incidents(0), Plain()), HasSubstr("times are UTC+1\n"));
  v1::ListSilencesAnswer silences;
  silences.add_silences()->set_id("1a2b3c4d");
  EXPECT_THAT(RenderSilences(silences, Plain()), HasSubstr("times are UTC+1\n"));
  v1::EventsAnswer events;
  events.add_events()->set_node("db-1");
  EXPECT_THAT(RenderEvents(events, Plain()), HasSubstr("times are UTC+1\n"));
  v1::SeriesAnswer series;
  series.add_series()->set_vital("cpu");
  EXPECT_THAT(RenderSeries(series, Plain()), HasSubstr("times are UTC+1\n"));
  v1::SamplesAnswer samples;
  samples.add_samples()->set_node("db-1");
  EXPECT_THAT(RenderSamples(samples, Plain()), HasSubstr("times are UTC+1\n"));
  v1::AnomaliesAnswer anomalies;
  anomalies.add_anomalies()->set_node("db-1");
  EXPECT_THAT(RenderAnomalies(anomalies, Plain()), HasSubstr("times are UTC+1\n"));
  v1::RunFilterAnswer run;
  run.add_late()->set_node("db-1");
  EXPECT_THAT(RenderFilterRun(run, Plain()), HasSubstr("times are UTC+1\n"));
  v1::FilterSeriesAnswer emitted;
  emitted.add_series()->set_node("db-1");
  EXPECT_THAT(RenderFilterSeries(emitted, Plain()), HasSubstr("times are UTC+1\n"));
  v1::CoverageAnswer coverage;
  coverage.add_gaps()->set_node("db-1");
  EXPECT_THAT(RenderGaps(coverage, Plain()), HasSubstr("times are UTC+1\n"));
  v1::HostLevelsAnswer hosts;
  hosts.add_hosts()->set_node("db-1");
  EXPECT_THAT(RenderHost(hosts, Plain()), HasSubstr("times are UTC+1\n"));
  v1::NodesAnswer nodes;
  nodes.add_nodes()->set_name("db-1");
  EXPECT_THAT(RenderNodes(nodes, Plain()), HasSubstr("times are UTC+1\n"));
  v1::StatusAnswer status;
  status.add_store()->set_family("raw");
  EXPECT_THAT(RenderStatus(status, Plain()), HasSubstr("times are UTC+1\n"));
}

TEST(RenderTest, AnAnomalySaysOnceWhatItWasLearnedFrom) {
  v1::Anomaly anomaly;
  anomaly.set_filter("level_shift");
  anomaly.set_evidence("7 of the last 8 epochs");
  anomaly.set_learned_epochs(1234);
  EXPECT_THAT(RenderAnomaly(anomaly, Plain()),
              HasSubstr("    because: 7 of the last 8 epochs; learned from 1,234 epochs\n"));
  anomaly.clear_evidence();
  EXPECT_THAT(RenderAnomaly(anomaly, Plain()), HasSubstr("because: learned from 1,234 epochs\n"));
  anomaly.set_text("high (learned from 1234 epochs)");
  EXPECT_THAT(RenderAnomaly(anomaly, Plain()), Not(HasSubstr("because")));
  anomaly.set_text("high");
  anomaly.set_filter("seasonal");
  EXPECT_THAT(RenderAnomaly(anomaly, Plain()), Not(HasSubstr("learned")));
}

TEST(RunFilterTest, HowItDiffersFromLiveIsSaidOfEachKindOfOutput) {
  v1::RunFilterAnswer run;
  run.set_epochs(60);
  run.set_nodes(1);
  EXPECT_THAT(RenderFilterRun(run, Plain()), HasSubstr("the same as live: 0 anomalies\n"));
  run.set_points(120);
  run.set_marks(1);
  run.add_anomalies();
  EXPECT_THAT(RenderFilterRun(run, Plain()),
              HasSubstr("the same as live: 1 anomaly, 120 points of series and 1 mark\n"));
  run.set_missing_points(3);
  run.set_new_marks(1);
  EXPECT_THAT(RenderFilterRun(run, Plain()),
              HasSubstr("differs from live: points of series: 0 only here, 3 only live; marks: 1 "
                        "only here, 0 only live\n"));
}

TEST(RenderTest, AFilterSaysWhatItDidNotSee) {
  v1::ListFiltersAnswer answer;
  v1::FilterInfo& filter = *answer.add_filters();
  filter.set_name("affinity");
  filter.mutable_status()->set_state("running");
  EXPECT_THAT(RenderFilters(answer, Plain()), Not(HasSubstr("running;")));
  filter.set_no_room(1200);
  filter.set_epochs_unreadable(1);
  EXPECT_THAT(RenderFilters(answer, Plain()),
              HasSubstr("running; no room for 1,200 labels or programs; 1 epoch unreadable"));
}

TEST(RunFilterTest, EpochsThatCannotBeOpenedAreSaid) {
  v1::RunFilterAnswer run;
  run.set_epochs(60);
  run.set_nodes(1);
  EXPECT_THAT(RenderFilterRun(run, Plain()), Not(HasSubstr("opened")));
  run.set_unreadable_epochs(3);
  EXPECT_THAT(RenderFilterRun(run, Plain()),
              HasSubstr("3 epochs of this time cannot be opened and so were not shown"));
}

TEST(TextTest, ANameOfCppKeepsItsFunction) {
  const std::string symbol =
      "std::_Rb_tree<std::string, std::pair<std::string const, int>, std::less<std::string> >::"
      "find(std::string const&, std::allocator<char> const&) (config_fuzzer)";
  EXPECT_EQ(Shortened(symbol, 60), "std::_Rb_tree<...>::find(...) (config_fuzzer)");
  EXPECT_EQ(Shortened(symbol, 34), "std::_Rb_tree<...>::find(...)");
  EXPECT_EQ(Width(Shortened(symbol, 20)), 20u);
  Table table({{"name", Table::Align::kLeft, 24}, {"n"}});
  table.Add({std::string(500, 'x'), "1"});
  EXPECT_LT(Width(table.Render(Style{})), 3 * Table::kWidestCell);  // into a pipe, too
}

// Where data is, not where the window begins that holds it; and not another time where another tier
// is what lacks.
TEST(RetypedTest, WhatIsProposedHasData) {
  const double now_s = static_cast<double>(absl::ToUnixSeconds(kNow));
  v1::Coverage coverage;
  const auto add = [&](v1::Tier tier, double start, double end) {
    v1::TierRange* range = coverage.add_tiers();
    range->set_tier(tier);
    range->set_start_s(start);
    range->set_end_s(end);
  };
  add(v1::TIER_RAW, now_s - 1000, now_s - 100);
  add(v1::TIER_1H, now_s - 3600, now_s);
  v1::Selection asked;
  asked.set_start_s(now_s - 86400);
  asked.set_end_s(now_s - 86340);
  const absl::TimeZone utc = absl::UTCTimeZone();
  const std::vector<std::string> begin = NearestRange(coverage, asked, utc);
  EXPECT_EQ(*ParseMoment(begin[1], kNow, utc), kNow - absl::Seconds(1000));
  EXPECT_EQ(RetypedAgainst({"telltale", "diff", "--at", "17:00", "--against", "-1d"}, begin),
            "telltale diff --at 17:00 --against 2026-11-20T10:43:20+00:00 --against-to "
            "2026-11-20T10:44:20+00:00");
  coverage.mutable_tiers()->RemoveLast();
  asked.set_start_s(now_s - 600);
  asked.set_end_s(now_s - 300);
  asked.set_tier(v1::TIER_1H);
  const std::vector<std::string> same = NearestRange(coverage, asked, utc);
  EXPECT_EQ(*ParseMoment(same[1], kNow, utc), kNow - absl::Seconds(600));
  EXPECT_EQ(*ParseMoment(same[3], kNow, utc), kNow - absl::Seconds(300));
}

}  // namespace
}  // namespace telltale::cli
