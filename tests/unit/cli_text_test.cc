// Answers as text: numbers with units, tables, what names from elsewhere may not do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "collector/cli/render.h"
#include "collector/cli/retyped.h"
#include "collector/cli/session.h"
#include "collector/cli/terminal_text.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::TimeZone kZone = absl::FixedTimeZone(3600);  // UTC+1
const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 20, 12, 0, 0), kZone);

TEST(TextTest, NumbersCarryUnits) {
  EXPECT_EQ(Quantity(0.0123, "s"), "12.3 ms");
  EXPECT_EQ(Quantity(0, "s"), "0 s");
  EXPECT_EQ(Quantity(0.9999, "s"), "1.00 s");
  EXPECT_EQ(Quantity(4 << 20, "bytes"), "4.00 MiB");
  EXPECT_EQ(Quantity(1023, "bytes"), "1,023 B");
  EXPECT_EQ(Quantity(1240, "pages"), "1,240 pages");
  EXPECT_EQ(Quantity(1, "signals"), "1 signal");
  EXPECT_EQ(Quantity(1, "misses"), "1 miss");
  EXPECT_EQ(Quantity(1, "pages"), "1 page");
  EXPECT_EQ(Quantity(2'310'000, "calls"), "2.31 M calls");
  EXPECT_EQ(Rate(1.35, "s"), "1.35 s/s");
  EXPECT_EQ(Rate(1.35, "s", "cpu/user"), "1.35 CPUs");
  EXPECT_EQ(Rate(0.0001, "s", "blocking"), "<0.001 waiting");
  EXPECT_EQ(Rate(1.35, "s", "of_a_site"), "1.35 s/s");
  EXPECT_EQ(Rate(12.0 * (1 << 20), "bytes"), "12.0 MiB/s");
  EXPECT_EQ(Share(0.0001), "<0.1 %");
}

TEST(TextTest, HostileNamesCannotMoveTheTerminal) {
  EXPECT_EQ(Escaped("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(Escaped("x\ny\r\tz"), "x\\x0ay\\x0d\\x09z");
  EXPECT_EQ(Escaped("\xc2\x9b"
                    "31m"),
            "\\u{9b}31m");  // C1 control sequence introducer
  EXPECT_EQ(Escaped("evil\xe2\x80\xae"
                    "txt"),
            "evil\\u{202e}txt");  // right-to-left override
  EXPECT_EQ(Escaped("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(Escaped("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Escaped("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(Escaped("\\x1b"), "\\\\x1b");
}

TEST(TextTest, ShortenedKeepsBothEnds) {
  const std::string text = Shortened("/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", 20);
  EXPECT_EQ(Width(text), 20u);
  EXPECT_THAT(text, ::testing::StartsWith("/usr"));
  EXPECT_THAT(text, ::testing::EndsWith("/cc1plus"));
}

View Plain() { return {Style{}, kZone, kNow}; }

v1::Coverage SomeCoverage() {
  v1::Coverage coverage;
  coverage.set_selected_s(60);
  coverage.set_watched_s(58);
  coverage.set_unwatched_s(2);
  coverage.set_nodes(1);
  coverage.set_nodes_selected(1);
  coverage.set_epochs_received(2);
  coverage.set_tier(v1::TIER_RAW);
  coverage.set_values_end_s(1);
  coverage.add_notes("2 s unwatched: agent restart");
  v1::ReasonCount* lost = coverage.add_lost_events();
  lost->set_reason("tokens");
  lost->set_events(12);
  return coverage;
}

TEST(RenderTest, CoverageIsOneLine) {
  EXPECT_EQ(RenderCoverage(SomeCoverage(), Plain()),
            "covers 58 s of 60 s on 1 node; 2 epochs (raw epochs); 2 s unwatched: agent restart; "
            "lost: 12 samples refused by tokens\n");
}

TEST(RenderTest, CoverageSaysWhyManyFramesHaveNoName) {
  v1::Coverage coverage = SomeCoverage();
  const auto add = [&coverage](const char* outcome, double frames) {
    v1::NameCount* count = coverage.add_user_frames();
    count->set_outcome(outcome);
    count->set_frames(frames);
  };
  add("named", 600);
  add("generated", 360);
  add("no_symbol", 25);
  EXPECT_THAT(RenderCoverage(coverage, Plain()), ::testing::Not(HasSubstr("user frames")));
  add("no_perf_map", 300);
  add("what\x1b[31m", 40);
  EXPECT_THAT(RenderCoverage(coverage, Plain()),
              HasSubstr("user frames have no name: 22.6 % in generated code without a perf map"));
  EXPECT_THAT(RenderCoverage(coverage, Plain()), ::testing::Not(HasSubstr("\x1b")));
  v1::CoverageAnswer answer;
  *answer.mutable_coverage() = coverage;
  const std::string gaps = RenderGaps(answer, Plain());
  EXPECT_THAT(gaps, HasSubstr("generated"));
  EXPECT_THAT(gaps, HasSubstr("360"));
}

TEST(RenderTest, TopLinesUpAndEndsWithCoverage) {
  v1::TopAnswer answer;
  v1::TopTable* table = answer.add_tables();
  table->set_vital("cpu");
  table->set_unit("s");
  table->set_by(v1::DIMENSION_PROCESS);
  table->set_total(10);
  table->set_events(100);
  table->set_exact(true);
  table->set_other(1);
  table->set_state(v1::VITAL_STATE_ACTIVE);
  for (const auto& [name, value] : {std::pair<const char*, double>{"spin", 8}, {"ev\x1bil", 1}}) {
    v1::TopRow* row = table->add_rows();
    row->set_name(name);
    row->set_value(value);
    row->set_share(value / 10);
    row->set_pid(12);
    row->set_user("0");
  }
  *answer.mutable_coverage() = SomeCoverage();
  table->set_exact(false);
  table->set_estimated(true);
  EXPECT_THAT(RenderTop(answer, Plain()),
              HasSubstr("cpu  10.0 s in all, 100 events; estimates: how far off is not known\n"));
  table->set_exact(true);
  table->set_estimated(false);
  EXPECT_EQ(RenderTop(answer, Plain()),
            "cpu  10.0 s in all, 100 events\n"
            "  by process                  pid  uid\n"
            "  spin        8.00 s  80.0 %   12    0\n"
            "  ev\\x1bil    1.00 s  10.0 %   12    0\n"
            "  (other)     1.00 s  10.0 %\n"
            "\n" +
                RenderCoverage(SomeCoverage(), Plain()));
}

TEST(RenderTest, AnUncertainSiteShowsFromWhatToWhatShare) {
  v1::TopAnswer answer;
  v1::TopTable* table = answer.add_tables();
  table->set_vital("syscall");
  table->set_unit("calls");
  table->set_by(v1::DIMENSION_SITE);
  table->set_total(1000);
  table->set_events(1000);
  table->set_state(v1::VITAL_STATE_ACTIVE);
  table->set_unlisted_most(40);
  table->set_kept_labels(24);
  for (const double low : {20, 395}) {
    v1::TopRow* row = table->add_rows();
    row->set_name("f");
    row->set_value(400);
    row->set_low(low);
    row->set_high(405);
    row->set_share(0.4);
  }
  const std::string text = RenderTop(answer, Plain());
  EXPECT_THAT(text, HasSubstr("2.0 to 40.5 %"));
  EXPECT_THAT(text, HasSubstr(" 40.0 %"));
  EXPECT_THAT(text, HasSubstr("windows keep 24 labels of a vital; what is not listed weighs at "
                              "most 40 calls each\n"));
}

TEST(RenderTest, NothingFoundSaysWhereDataIs) {
  v1::Coverage coverage;
  coverage.set_nodes_selected(1);
  v1::TierRange* range = coverage.add_tiers();
  range->set_tier(v1::TIER_RAW);
  range->set_start_s(absl::ToUnixSeconds(kNow) - 60);
  range->set_end_s(absl::ToUnixSeconds(kNow));
  v1::Selection asked;
  asked.add_nodes("db-1");
  asked.set_start_s(0);
  asked.set_end_s(60);
  const std::string text = NothingFound(coverage, asked, Plain());
  EXPECT_THAT(text, HasSubstr("no data from 1970-01-01 01:00:00 to 1970-01-01 01:01:00 on db-1"));
  EXPECT_THAT(text, HasSubstr("raw epochs from 2026-11-20 11:59:00 to 2026-11-20 12:00:00"));
}

TEST(RenderTest, ASampleNamesWhoWokeItAndFromWhere) {
  v1::SamplesAnswer answer;
  v1::SampleAnswer& sample = *answer.add_samples();
  sample.mutable_waker()->set_comm("writer");
  sample.mutable_waker()->set_pid(77);
  sample.mutable_waker()->add_stack()->set_name("pipe_write");
  EXPECT_THAT(RenderSamples(answer, Plain()),
              ::testing::ContainsRegex("  woken by: writer \\(pid 77\\)\n +pipe_write"));
  sample.mutable_waker()->set_process_age_s(7200);
  EXPECT_THAT(RenderSamples(answer, Plain()), ::testing::Not(HasSubstr("estimate")));
  sample.set_watched_share(0.125);
  EXPECT_THAT(RenderSamples(answer, Plain()),
              HasSubstr("in this epoch, an estimate: watched 12.5 % of the time\n"));
  EXPECT_THAT(RenderSamples(answer, Plain()), HasSubstr("  woken by: writer (pid 77, 2 h old)\n"));
  sample.mutable_waker()->set_comm("[irq]");
  sample.mutable_waker()->set_pid(0);
  EXPECT_THAT(RenderSamples(answer, Plain()), ::testing::HasSubstr("  woken by: [irq]\n"));
}

TEST(RenderTest, ASampleNamesItsContainerAndPodOrElseItsCgroup) {
  v1::SamplesAnswer answer;
  v1::SampleAnswer& sample = *answer.add_samples();
  sample.set_cgroup("/system.slice/nginx.service");
  EXPECT_THAT(RenderSamples(answer, Plain()), HasSubstr(" in /system.slice/nginx.service\n"));
  sample.set_container("0123456789abcdef0123");
  sample.set_pod_uid("8d3cf0aa");
  EXPECT_THAT(RenderSamples(answer, Plain()),
              HasSubstr(" in container 0123456789ab of pod 8d3cf0aa\n"));
}

TEST(RenderTest, CoverageSaysWhatWasReadAndWhichTimeValuesMean) {
  v1::Coverage coverage = SomeCoverage();
  coverage.clear_notes();
  coverage.clear_lost_events();
  coverage.set_epochs_received(1440);
  v1::TierUse* use = coverage.add_used();
  use->set_tier(v1::TIER_RAW);
  use->set_rows(1);
  use = coverage.add_used();
  use->set_tier(v1::TIER_1H);
  use->set_rows(24);
  coverage.set_values_start_s(absl::ToUnixSeconds(kNow) - 3600);
  coverage.set_values_end_s(absl::ToUnixSeconds(kNow));
  EXPECT_EQ(RenderCoverage(coverage, Plain()),
            "covers 58 s of 60 s on 1 node; 1,440 epochs (24 windows of 1 h and 1 raw epoch); "
            "values are of 11:00:00 to 12:00:00;\n  no events lost\n");
}

TEST(RenderTest, LessThanAnEpochSaysFirstThatFiguresAreOfTheWholeEpoch) {
  v1::Coverage coverage = SomeCoverage();
  v1::TierUse* used = coverage.add_used();
  used->set_tier(v1::TIER_RAW);
  used->set_rows(1);
  used->set_length_s(60);
  coverage.set_asked_start_s(1'763'485'210);
  coverage.set_asked_end_s(1'763'485'211);
  coverage.set_values_start_s(1'763'485'200);
  coverage.set_values_end_s(1'763'485'260);
  EXPECT_THAT(Headline(coverage, Plain()), HasSubstr("asked for 1 s; all figures are of the whole "
                                                     "epoch "));
  EXPECT_THAT(Headline(coverage, Plain()), HasSubstr(" to "));
  coverage.set_asked_end_s(1'763'485'270);
  EXPECT_EQ(Headline(coverage, Plain()), "");
}

TEST(RenderTest, AnAnomalyNamesItsVitalOnce) {
  v1::Anomaly anomaly;
  anomaly.set_node("a");
  anomaly.set_vital("blocking");
  anomaly.set_sub("disk");
  anomaly.set_text("blocking/disk high at 50 s/s");
  anomaly.set_filter("ewma");
  const std::string line = RenderAnomaly(anomaly, Plain());
  EXPECT_THAT(line, HasSubstr("a  blocking/disk  high at 50 s/s"));
  EXPECT_EQ(line.find("blocking/disk"), line.rfind("blocking/disk"));
}

TEST(RenderTest, WhatIsNoDeviationOfARateIsNotToldInDeviations) {
  v1::Anomaly anomaly;
  anomaly.set_filter("ewma");
  anomaly.set_severity(9);
  anomaly.set_deviation(0.5);
  EXPECT_THAT(RenderAnomaly(anomaly, Plain()), HasSubstr("(9.0 deviations, ewma)"));
  anomaly.set_filter("affinity");
  anomaly.set_deviation(1);
  EXPECT_THAT(RenderAnomaly(anomaly, Plain()), HasSubstr("  (affinity)"));
  anomaly.set_filter("silence");
  anomaly.clear_deviation();
  EXPECT_THAT(RenderAnomaly(anomaly, Plain()), HasSubstr("  (silence)"));
}

TEST(RenderTest, ADiagnosisStandsWithWhatSpeaksForAndAgainstIt) {
  v1::Anomaly anomaly;
  anomaly.set_node("a");
  anomaly.set_vital("cpu");
  anomaly.set_text("app (pid 812, uid 0) ran 59 s of 60 s: a busy loop");
  anomaly.set_rule(1);
  anomaly.set_evidence("0.99 CPUs\x1b[31m");
  anomaly.set_against("a computation looks the same");
  anomaly.set_next("telltale stacks --vital cpu --process 812");
  const std::string text = RenderAnomaly(anomaly, Plain());
  EXPECT_THAT(text, HasSubstr("a busy loop  (rule 1)\n    because: 0.99 CPUs"));
  EXPECT_THAT(text,
              HasSubstr("\n    against: a computation looks the same\n    next:    telltale"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);

  anomaly.mutable_record()->set_hits(27);
  anomaly.mutable_record()->set_misses(2);
  anomaly.mutable_record()->set_low(0.78);
  anomaly.mutable_record()->set_high(0.981);
  EXPECT_THAT(RenderAnomaly(anomaly, Plain()),
              HasSubstr("\n    record:  27 of 29 found (78 to 98 %), 0 false alarms\n    next: "));
}

TEST(RenderTest, RulesStandByNumberWithTheirRecord) {
  v1::ListFiltersAnswer answer;
  for (const uint32_t rule : {7, 0, 2}) {
    v1::FilterInfo* filter = answer.add_filters();
    filter->set_name("filter_" + std::to_string(rule));
    filter->set_rule(rule);
  }
  answer.mutable_filters(2)->mutable_record()->set_hits(27);
  answer.mutable_filters(2)->mutable_record()->set_misses(2);
  answer.mutable_filters(2)->mutable_record()->set_low(0.78);
  answer.mutable_filters(2)->mutable_record()->set_high(0.981);
  answer.mutable_filters(2)->mutable_record()->set_measured("2026-11-22");
  answer.mutable_filters(2)->mutable_record()->set_faults(34);
  answer.mutable_filters(2)->mutable_record()->set_innocent_loads(1);
  const std::string text = RenderRules(answer, Plain());
  EXPECT_EQ(text.find("filter_0"), std::string::npos);
  EXPECT_LT(text.find("filter_2"), text.find("filter_7"));
  EXPECT_THAT(text, HasSubstr("27 of 29 found (78 to 98 %), 0 false alarms"));
  EXPECT_THAT(text, HasSubstr("2026-11-22, 34 planted faults and 1 innocent load on one machine"));
  EXPECT_THAT(text, HasSubstr("no record yet"));
}

TEST(RenderTest, WithoutAnomaliesItSaysWhereFiltersStillLearn) {
  v1::AnomaliesAnswer answer;
  for (int i = 1; i <= 12; ++i) {
    v1::FilterLearning* learning = answer.add_learning();
    learning->set_node("db-" + std::to_string(i));
    learning->set_filter("ewma");
    learning->set_learned_epochs(static_cast<uint64_t>(i));
    learning->set_needed_epochs(30);
    if (i > 1) continue;
    learning = answer.add_learning();
    *learning = answer.learning(0);
    learning->set_filter("leak");
    learning = answer.add_learning();
    learning->set_node("db-1");
    learning->set_filter("seasonal");
    learning->set_needed_epochs(3);
    learning->set_unit("weeks");
  }
  const std::string text = RenderAnomalies(answer, Plain());
  EXPECT_THAT(
      text,
      HasSubstr(
          "no anomaly in this time\ndb-1  still learning: ewma, leak 1 of 30 epochs; seasonal "
          "0 of 3 weeks\n"));
  EXPECT_THAT(text, HasSubstr("and 7 other nodes where filters are still learning\n"));
}

TEST(RenderTest, WindowsThatAreNotThereYetAreNoData) {
  v1::Coverage coverage;
  coverage.set_nodes_selected(1);
  coverage.set_epochs_received(5);
  coverage.add_tiers()->set_tier(v1::TIER_RAW);
  v1::Selection asked;
  asked.set_end_s(60);
  EXPECT_EQ(NothingFound(coverage, asked, Plain()), "");  // there are epochs, just without content
  asked.set_tier(v1::TIER_1H);
  EXPECT_THAT(NothingFound(coverage, asked, Plain()), HasSubstr("no 1 h windows from"));
}

TEST(RenderTest, SamplesSayWhetherThereAreMore) {
  v1::SamplesAnswer answer;
  answer.add_samples();
  EXPECT_THAT(RenderSamples(answer, Plain()), HasSubstr("1 sample: all that epochs kept"));
  answer.set_next_page("1.2");
  EXPECT_THAT(RenderSamples(answer, Plain()), HasSubstr("the newest 1 sample"));
  EXPECT_THAT(RenderSamples(answer, Plain()), Not(HasSubstr("1.2")));  // the command stands below
}

TEST(RetypedTest, TheSameCommandWithTheTimeThatHasData) {
  v1::Coverage coverage;
  v1::TierRange* range = coverage.add_tiers();
  range->set_tier(v1::TIER_RAW);
  range->set_start_s(absl::ToUnixSeconds(kNow) - 7200);
  range->set_end_s(absl::ToUnixSeconds(kNow) - 3600);
  v1::Selection asked;
  asked.set_start_s(absl::ToUnixSeconds(kNow) - 300);
  asked.set_end_s(absl::ToUnixSeconds(kNow));
  const absl::TimeZone utc = absl::UTCTimeZone();
  const std::vector<std::string> late = NearestRange(coverage, asked, utc);
  EXPECT_EQ(Retyped({"/usr/bin/telltale", "top", "--from=-5m", "--node", "it's", "--tier", "1h",
                     "--vital", "cpu", "--to", "now"},
                    late),
            "telltale top --node 'it'\\''s' --vital cpu --from 2026-11-20T09:55:00+00:00 --to "
            "2026-11-20T10:00:00+00:00");
  EXPECT_EQ(*ParseMoment(late[1], kNow, kZone), kNow - absl::Seconds(3900));
  asked.set_start_s(0);
  asked.set_end_s(60);
  EXPECT_THAT(Retyped({"telltale", "top"}, NearestRange(coverage, asked, utc)),
              HasSubstr("--from 2026-11-20T09:00:00+00:00 --to 2026-11-20T09:01:00+00:00"));
  coverage.clear_tiers();
  EXPECT_TRUE(NearestRange(coverage, asked, utc).empty());
}

// What is offered to be pasted into a shell does nothing but name what it names.
TEST(RetypedTest, NamesFromElsewhereAreQuoted) {
  EXPECT_EQ(Quoted("nginx"), "nginx");
  EXPECT_EQ(Quoted("a b"), "'a b'");
  EXPECT_EQ(Quoted("'; rm -rf ~; '"), R"(''\''; rm -rf ~; '\''')");
  EXPECT_EQ(Quoted("a\\b"), R"('a\b')");
  EXPECT_EQ(Quoted("\x1b[2J'\\"), R"($'\x1b[2J\'\\')");
  EXPECT_EQ(Quoted("$(id)"), "'$(id)'");
  EXPECT_EQ(Quoted(""), "''");
}

TEST(FollowTest, GoesOnWhenACollectorThatTookOurCertificateClosesInTheHandshake) {
  EXPECT_TRUE(MayPass(absl::UnavailableError("away"), false));
  EXPECT_TRUE(MayPass(absl::UnauthenticatedError("it closed the connection"), true));
  EXPECT_FALSE(MayPass(absl::UnauthenticatedError("it closed the connection"), false));
  EXPECT_FALSE(MayPass(absl::PermissionDeniedError("a viewer only"), true));
}

}  // namespace
}  // namespace telltale::cli
