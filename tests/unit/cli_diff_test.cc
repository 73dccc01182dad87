// Two selections side by side as text: what changed for certain stands apart from what may be
// chance, and the other side of a comparison is what people mean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/cli/question.h"
#include "collector/cli/render.h"

namespace telltale::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::TimeZone kUtc = absl::UTCTimeZone();
const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 20, 12, 0, 0), kUtc);

View Plain() { return View{Style{}, kUtc, kNow}; }

v1::Coverage CoverageOf(double start_s, double end_s) {
  v1::Coverage coverage;
  coverage.set_selected_s(end_s - start_s);
  coverage.set_watched_s(end_s - start_s);
  coverage.set_nodes(1);
  coverage.set_nodes_selected(1);
  coverage.set_epochs_received(10);
  coverage.set_tier(v1::TIER_RAW);
  coverage.set_asked_start_s(start_s);
  coverage.set_asked_end_s(end_s);
  coverage.set_values_end_s(end_s);
  return coverage;
}

void AddRow(v1::DiffTable* table, const std::string& name, double against, double now, double open,
            bool certain) {
  v1::DiffRow* row = table->add_rows();
  row->mutable_row()->set_name(name);
  row->mutable_row()->set_exe("/bin/a");
  row->mutable_row()->set_value(now);
  row->mutable_against()->set_value(against);
  row->set_difference(now - against);
  row->set_difference_low(now - against - open);
  row->set_difference_high(now - against + open);
  row->set_certain(certain);
}

TEST(RenderDiffTest, WhatIsCertainStandsApartFromWhatMayBeChance) {
  v1::DiffAnswer answer;
  const double end = static_cast<double>(absl::ToUnixSeconds(kNow));
  *answer.mutable_coverage() = CoverageOf(end - 600, end);
  *answer.mutable_against_coverage() = CoverageOf(end - 86400 - 1200, end - 86400);
  answer.set_scale(0.5);
  v1::DiffTable* table = answer.add_tables();
  table->set_vital("cpu");
  table->set_unit("s");
  table->set_by(v1::DIMENSION_SITE);
  table->set_total(20);
  table->set_against_total(10);
  table->set_unlisted_most(0.5);
  AddRow(table, "sp\x1bin", 1, 9, 2, true);
  AddRow(table, "idle", 4, 3, 2, false);
  EXPECT_EQ(RenderDiff(answer, Plain()),
            "now      2026-11-20 11:50:00 to 12:00:00, 1 node\n"
            "against  2026-11-19 11:40:00 to 2026-11-19 12:00:00, 1 node; its figures are times "
            "0.5, for as much watched node time as now\n"
            "times are UTC\n"
            "\n"
            "cpu  20.0 s in all, against 10.0 s (x 2)\n"
            "  by site   against     now  difference       between              of\n"
            "  sp\\x1bin   1.00 s  9.00 s     +8.00 s  x 9  +6.00 s and +10.0 s  /bin/a\n"
            "  perhaps, within the bounds  against     now  difference          between"
            "              of\n"
            "  idle                         4.00 s  3.00 s     -1.00 s  x 0.75  -3.00 s and +1.00 s"
            "  /bin/a\n"
            "    what is not listed differs by at most 500 ms each\n"
            "\n"
            "now: covers 10 min of 10 min on 1 node; 10 epochs (raw epochs); no events lost\n"
            "against: covers 20 min of 20 min on 1 node; 10 epochs (raw epochs); no events lost\n");
}

TEST(RenderDiffTest, TheNodeStandsInTheRowsOnlyWhereThereAreSeveral) {
  v1::DiffAnswer answer;
  v1::DiffTable* processes = answer.add_tables();
  processes->set_vital("cpu");
  processes->set_unit("s");
  processes->set_by(v1::DIMENSION_PROCESS);
  processes->set_total(20);
  AddRow(processes, "postgres-checkpointer", 1, 9, 2, true);
  AddRow(processes, "postgres-checkpointer", 1, 9, 2, true);
  for (v1::DiffRow& row : *processes->mutable_rows()) {
    row.mutable_row()->set_node("db-1");
    row.mutable_row()->set_pid(4'194'303);
  }
  View narrow = Plain();
  narrow.style.columns = 60;
  EXPECT_THAT(RenderDiff(answer, narrow), HasSubstr("  postgres-...ointer (pid 4194303)  "));
  EXPECT_THAT(RenderDiff(answer, Plain()), Not(HasSubstr(" on db-1")));
  processes->mutable_rows(1)->mutable_row()->set_node("db-2");
  EXPECT_THAT(RenderDiff(answer, Plain()),
              HasSubstr("postgres-checkpointer (pid 4194303) on db-2"));
}

TEST(RenderDiffTest, AVitalThatWasNotWatchedSaysWhy) {
  v1::DiffAnswer answer;
  answer.set_scale(1);
  v1::DiffTable* table = answer.add_tables();
  table->set_vital("llc");
  table->set_reason("not watched in the selection: no \x1b counters");
  EXPECT_THAT(RenderDiff(answer, Plain()),
              HasSubstr("not watched in the selection: no \\x1b counters"));
}

v1::FlameAnswer SomeTree() {
  v1::FlameAnswer flame;
  flame.set_vital("cpu");
  flame.set_unit("s");
  flame.set_total(12);
  const std::vector<std::tuple<uint32_t, const char*, double, double>> nodes = {
      {0, "", 10, 0},  {0, "/x", 10, 0}, {1, "main", 10, 0}, {2, "a", 10, 0},   {3, "b", 10, 0},
      {4, "c", 10, 0}, {5, "d", 10, 0},  {6, "hot", 7, 7},   {6, "warm", 2, 2}, {6, "cold", 1, 1}};
  for (const auto& [parent, name, value, self] : nodes) {
    v1::FlameNode* node = flame.add_nodes();
    node->set_parent(parent);
    node->set_name(name);
    node->set_value(value);
    node->set_self(self);
  }
  return flame;
}

TEST(RenderFlameTest, FramesWithASingleChildShareALine) {
  const std::string text = RenderFlame(SomeTree(), 3, Plain());
  EXPECT_THAT(text, HasSubstr("cpu  12.0 s in all; 10.0 s in stacks\n"
                              "                frames, caller first\n"
                              "10.0 s  83.3 %  /x > main > (2 more) > c > d\n"
                              "7.00 s  58.3 %    hot\n"
                              "2.00 s  16.7 %    warm\n"
                              "\n"));
}

TEST(RenderFlameTest, ATreeAgainstAnotherShowsBothWeights) {
  v1::FlameAnswer flame = SomeTree();
  flame.set_scale(1);
  flame.mutable_nodes(7)->set_against(9);
  flame.mutable_nodes(7)->set_certain(true);
  const std::string text = RenderFlame(flame, 40, Plain());
  EXPECT_THAT(text, HasSubstr("9.00 s     -2.00 s  less"));
  EXPECT_THAT(text, HasSubstr("against: covers"));
}

v1::Selection Asked() {
  v1::Selection selection;
  selection.add_nodes("web-1");
  selection.set_start_s(100'000);
  selection.set_end_s(100'600);
  return selection;
}

TEST(AgainstTest, IsWhatPeopleMean) {
  Arguments arguments;
  const auto start = [&] {
    const auto against = AgainstOf(arguments, Asked(), kNow, kUtc);
    EXPECT_TRUE(against.ok()) << against.status();
    return against.ok() ? against->start_s() : 0;
  };
  EXPECT_DOUBLE_EQ(start(), 99'400);  // just before
  arguments.against = "-1h";
  EXPECT_DOUBLE_EQ(start(), 96'400);  // an hour before the selection, not before now
  arguments.against = "yesterday";
  EXPECT_DOUBLE_EQ(start(), 13'600);
  arguments.against = "@50000";
  EXPECT_DOUBLE_EQ(start(), 50'000);
  EXPECT_DOUBLE_EQ(AgainstOf(arguments, Asked(), kNow, kUtc)->end_s(), 50'600);
  EXPECT_EQ(AgainstOf(arguments, Asked(), kNow, kUtc)->nodes(0), "web-1");
  arguments.against_to = "@51000";
  EXPECT_DOUBLE_EQ(AgainstOf(arguments, Asked(), kNow, kUtc)->end_s(), 51'000);
  arguments = Arguments();
  arguments.against_nodes = {"web-2"};
  EXPECT_DOUBLE_EQ(start(), 100'000);  // the same time elsewhere
  EXPECT_EQ(AgainstOf(arguments, Asked(), kNow, kUtc)->nodes(0), "web-2");
}

TEST(AgainstTest, RefusesWhatIsNoTime) {
  Arguments arguments;
  arguments.against_to = "@51000";
  EXPECT_FALSE(AgainstOf(arguments, Asked(), kNow, kUtc).ok());
  arguments.against = "@52000";
  EXPECT_FALSE(AgainstOf(arguments, Asked(), kNow, kUtc).ok());
  arguments = Arguments();
  arguments.against = "-7 parsecs";
  EXPECT_FALSE(AgainstOf(arguments, Asked(), kNow, kUtc).ok());
}

}  // namespace
}  // namespace telltale::cli
