// Rows known by samples beside what is known exactly: what one answer says about a piece of code
// must fit what another says about the program it belongs to, and shares add up to at most all.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/query/fitted_rows.h"
#include "collector/query/top_windows.h"
#include "storage/rollup/window_model.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

v1::TopRequest TopOf(const std::string& vital, v1::Dimension by) {
  auto request = Asked<v1::TopRequest>(1000, 1010);
  request.set_vital(vital);
  request.set_by(by);
  request.mutable_selection()->set_tier(v1::TIER_RAW);
  return request;
}

// /x made exactly 30 of 100 calls and has two places of code that may have made 80 each; what /y
// did lies in one place.
v1::SummaryBody TwoPrograms() {
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {100, 0});
  maker.Columns({ShareColumn(TELLTALE_SYSCALL, 0)});
  maker.Process("/x", 1, 0, {30});
  maker.Process("/y", 2, 0, {70});
  for (const uint64_t label : {1, 2}) {
    const uint32_t stack =
        maker.Stack({}, {maker.Frame("id", "/x", 0x100 * label), maker.Frame("id", "/x", 0x900)});
    maker.Sample(vital, "/x", stack, label, label, 80, label);
  }
  const uint32_t stack = maker.Stack({}, {maker.Frame("id-y", "/y", 0x40)});
  maker.Sample(vital, "/y", stack, 10, 10, 100, 3);
  return maker.body();
}

TEST(FitTest, ASiteNeverWeighsMoreThanItsExecutableDoesExactly) {
  FakeSource source;
  source.AddEpoch(source.AddNode("a"), 1000, 10, TwoPrograms());
  for (const v1::Dimension by : {v1::DIMENSION_SITE, v1::DIMENSION_STACK}) {
    const auto answer = MakeEngine(source, 1020).Top(TopOf("syscall", by), {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->tables(0).rows_size(), 3);
    double of_x = 0, all = 0, share = 0;
    for (const v1::TopRow& row : answer->tables(0).rows()) {
      EXPECT_LE(row.low(), row.value());
      EXPECT_LE(row.value(), row.high());
      EXPECT_LE(row.high(), row.exe() == "/x" ? 30 : 70) << row.name();
      all += row.value();
      share += row.share();
      if (row.exe() == "/x") of_x += row.value();
    }
    EXPECT_LE(of_x, 30);
    EXPECT_LE(all, answer->tables(0).total());
    EXPECT_LE(share, 1);
    // Beside the other place of the same program, which made at least one call.
    EXPECT_DOUBLE_EQ(answer->tables(0).rows(1).high() + answer->tables(0).rows(2).low(), 30);
  }
  auto request = Asked<v1::StacksRequest>(1000, 1010);
  request.set_vital("syscall");
  const auto stacks = MakeEngine(source, 1020).Stacks(request, {});
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  for (const v1::StackWeight& stack : stacks->stacks()) {
    EXPECT_LE(stack.high(), stack.exe() == "/x" ? 30 : 70);
    EXPECT_LE(stack.low(), stack.value());
    EXPECT_LE(stack.value(), stack.high());
  }
}

TEST(FitTest, WindowsKnowTheSameLimits) {
  const v1::Schema schema = proto::BuiltinSchema();
  WindowSums windows({.vitals = {TELLTALE_SYSCALL}, .run_time = true});
  windows.Add(1, storage::FromSummary(TwoPrograms(), schema, {}, 1), schema);
  const VitalChoice choice{*storage::DescriptorOf(schema, TELLTALE_SYSCALL), -1, false};
  FakeSource source;
  SymbolCache cache(&source);
  TopTable table(choice, v1::DIMENSION_SITE);
  ProcessFilter everything("");
  AddWindows(*windows.Find(TELLTALE_SYSCALL), {}, everything, cache, table);
  const v1::TopTable answer = table.Finish(0, 10, false);
  ASSERT_EQ(answer.rows_size(), 3);
  double sum = 0;
  for (const v1::TopRow& row : answer.rows()) {
    EXPECT_LE(row.high(), row.exe() == "/x" ? 30 : 70) << row.name();
    sum += row.value();
  }
  EXPECT_LE(sum, 100);
  EXPECT_EQ(answer.kept_labels(), sketch::kKeptLabels);
}

TEST(FitTest, ProcessesWithoutARowMayBelongToAnyExecutable) {
  FakeSource source;
  v1::SummaryBody body = TwoPrograms();
  body.mutable_processes()->mutable_rows(1)->set_values(0, 50);
  body.mutable_processes()->mutable_other()->add_values(20);
  source.AddEpoch(source.AddNode("a"), 1000, 10, body);
  const Engine engine = MakeEngine(source, 1020);
  const auto sites = engine.Top(TopOf("syscall", v1::DIMENSION_SITE), {});
  for (const v1::TopRow& row : sites->tables(0).rows()) {
    EXPECT_LE(row.high(), row.exe() == "/x" ? 30 + 20 : 50 + 20) << row.name();
  }
  EXPECT_EQ(sites->tables(0).rows(0).high(), 70);
  const auto exes = engine.Top(TopOf("syscall", v1::DIMENSION_EXE), {});
  EXPECT_FALSE(exes->tables(0).exact());
  EXPECT_EQ(exes->tables(0).rows(0).low(), 50);
  EXPECT_EQ(exes->tables(0).rows(0).high(), 70);
}

TEST(FitTest, IdleWaitsLendNoWeightToTheRest) {
  FakeSource source;
  BodyMaker maker;
  const v1::Schema schema = proto::BuiltinSchema();
  const v1::VitalDescriptor& blocking = *storage::DescriptorOf(schema, TELLTALE_BLOCKING);
  std::vector<uint64_t> weights;
  int busy = -1;
  for (int i = 0; i < blocking.subs_size(); ++i) {
    weights.push_back(blocking.subs(i).idle() ? 900 : 0);
    if (busy < 0 && !blocking.subs(i).idle()) busy = i;
  }
  weights[static_cast<size_t>(busy)] = 100;
  v1::Vital* vital = maker.Vital(TELLTALE_BLOCKING, weights);
  for (const uint64_t label : {1, 2, 3}) {
    maker.Sample(vital, absl::StrCat("/", label), 0, 1, 1, 90, label)
        ->set_sub(static_cast<uint32_t>(busy));
  }
  source.AddEpoch(source.AddNode("a"), 1000, 10, maker.body());
  const auto answer = MakeEngine(source, 1020).Top(TopOf("blocking", v1::DIMENSION_SITE), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  double sum = 0;
  for (const v1::TopRow& row : answer->tables(0).rows()) sum += row.value();
  EXPECT_LE(sum, 100e-9 * (1 + 1e-9));
  EXPECT_LE(answer->tables(0).total(), 100e-9 * (1 + 1e-9));
}

TEST(FitTest, WhatALabelIsProvenToWeighIsNotProvenOfOneOfItsStacks) {
  FakeSource source;
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {100, 0});
  // Of 40 proven, 10 were sampled at the stack that is listed; the rest was folded away.
  const uint32_t stack = maker.Stack({}, {maker.Frame("id", "/x", 0x100)});
  maker.Sample(vital, "/x", stack, 10, 40, 70, 1);
  source.AddEpoch(source.AddNode("a"), 1000, 10, maker.body());
  auto request = Asked<v1::StacksRequest>(1000, 1010);
  request.set_vital("syscall");
  const auto stacks = MakeEngine(source, 1020).Stacks(request, {});
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  EXPECT_DOUBLE_EQ(stacks->stacks(0).low(), 10);
  const auto sites = MakeEngine(source, 1020).Top(TopOf("syscall", v1::DIMENSION_SITE), {});
  EXPECT_DOUBLE_EQ(sites->tables(0).rows(0).low(), 10);
  const auto exes = MakeEngine(source, 1020).Top(TopOf("syscall", v1::DIMENSION_EXE), {});
  EXPECT_DOUBLE_EQ(exes->tables(0).rows(0).low(), 40);
}

TEST(FitTest, TasksWithoutAnExecutableShareOneLimit) {
  GroupSum accounts;
  sketch::LabelList list;
  list.total = 100;
  for (const auto& [name, weight] :
       {std::pair<const char*, uint64_t>{"/x", 60}, {"[irq]", 10}, {"[kworker/0:1]", 30}}) {
    const uint64_t id = storage::DigestText(name);
    accounts.text[id] = name;
    list.labels.push_back({id, weight, weight});
  }
  accounts.weights.Add(list);
  const ExeLimits limits(accounts);
  EXPECT_EQ(limits.Most("/x"), 60);
  EXPECT_EQ(limits.Most("[irq]"), 10);
  EXPECT_EQ(limits.Most("[kworker/7:0]"), 30);  // the same label may have been another worker
  EXPECT_GT(limits.Most("/other"), 1e18);       // no account names it: nothing is known
}

TEST(FitTest, TheKernelsOwnAccountOutweighsWhatTicksAddUpTo) {
  GroupSum accounts;
  accounts.other_measure = true;
  const uint64_t id = storage::DigestText("/x");
  accounts.text[id] = "/x";
  accounts.weights.Add({{{id, 10, 10}}, 10, 0, 0});
  std::vector<RowWeight> rows = {{"/x", 8, 8, 9}, {"/x", 12, 12, 20}};
  FitRows(100, ExeLimits(accounts), rows);
  EXPECT_DOUBLE_EQ(rows[0].value, 4);
  EXPECT_DOUBLE_EQ(rows[1].value, 6);
  EXPECT_DOUBLE_EQ(rows[1].high, 6);
}

}  // namespace
}  // namespace telltale::query
