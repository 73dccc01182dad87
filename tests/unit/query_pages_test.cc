// Answers in pages: together they are the answer in one piece.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kStart = 10'000;

// Five processes of 1 to 5 s.
v1::SummaryBody FiveProcesses() {
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {20 * kS, 0, 0});
  maker.Columns({ShareColumn(TELLTALE_CPU, 0)});
  for (uint32_t pid = 1; pid <= 5; ++pid) {
    maker.Process("/bin/p" + std::to_string(pid), pid, 0, {pid * kS});
  }
  return maker.body();
}

v1::TopRequest TopInPages(uint32_t limit) {
  v1::TopRequest request;
  request.set_vital("cpu");
  request.set_by(v1::DIMENSION_PROCESS);
  request.set_limit(limit);
  return request;
}

class TopPagesTest : public ::testing::Test {
 protected:
  TopPagesTest() : node_(source_.AddNode("a")) {
    source_.AddEpoch(node_, kStart, 10, FiveProcesses());
  }
  FakeSource source_;
  const uint32_t node_;
};

TEST_F(TopPagesTest, MeetWithoutLossOrRepeatAndEachAddsUpToTheTotal) {
  const Engine engine = MakeEngine(source_, kStart + 20);
  v1::TopRequest request = TopInPages(2);
  std::vector<uint32_t> pids;
  for (uint32_t page = 0; page < 3; ++page) {
    const auto answer = engine.Top(request, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    const v1::TopTable& table = answer->tables(0);
    double rows = 0;
    for (const v1::TopRow& row : table.rows()) {
      pids.push_back(row.pid());
      rows += row.value();
    }
    EXPECT_EQ(table.rows_before(), page * 2);
    EXPECT_EQ(table.rows_before() + static_cast<uint32_t>(table.rows_size()) + table.rows_after(),
              5u);
    EXPECT_DOUBLE_EQ(table.total(), 20);
    EXPECT_DOUBLE_EQ(table.before() + rows + table.other(), table.total());
    EXPECT_EQ(answer->next_page().empty(), page == 2);
    request.set_page(answer->next_page());
  }
  EXPECT_THAT(pids, ElementsAre(5, 4, 3, 2, 1));
}

TEST_F(TopPagesTest, AQuestionUpToNowGoesOnWithTheTimeOfItsFirstPage) {
  v1::TopRequest request = TopInPages(2);
  request.set_page(MakeEngine(source_, kStart + 20).Top(request, {})->next_page());
  source_.AddEpoch(node_, kStart + 20, 10, FiveProcesses());
  const auto second = MakeEngine(source_, kStart + 3000).Top(request, {});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_DOUBLE_EQ(second->tables(0).total(), 20) << "without the epoch that came meanwhile";
  EXPECT_DOUBLE_EQ(second->coverage().asked_end_s(), kStart + 20);
  EXPECT_THAT(second->coverage().notes(),
              testing::Not(::testing::Contains(HasSubstr("the page before"))));
}

TEST_F(TopPagesTest, AnEpochThatCameBetweenTwoPagesIsSaid) {
  v1::TopRequest request = TopInPages(2);
  request.set_page(MakeEngine(source_, kStart + 40).Top(request, {})->next_page());
  source_.AddEpoch(node_, kStart + 20, 10, FiveProcesses());
  const auto second = MakeEngine(source_, kStart + 40).Top(request, {});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(second->coverage().notes(),
              ::testing::Contains(HasSubstr("the page before was made (1 then, 2 now)")));
}

TEST_F(TopPagesTest, APageHoldsForItsOwnQuestionAlone) {
  const Engine engine = MakeEngine(source_, kStart + 20);
  v1::TopRequest request = TopInPages(2);
  const std::string page = engine.Top(request, {})->next_page();
  ASSERT_FALSE(page.empty());
  request.set_page(page);
  request.set_limit(3);
  EXPECT_EQ(engine.Top(request, {})->tables(0).rows_size(), 3) << "pages may differ in length";
  request.set_by(v1::DIMENSION_EXE);
  EXPECT_THAT(std::string(engine.Top(request, {}).status().message()),
              HasSubstr("page is of another question"));
  for (const std::string& wrong :
       {std::string("2.1"), page + "0.1", "1" + page.substr(1), std::string("2.2.9.3.1.1")}) {
    request.set_page(wrong);
    EXPECT_EQ(engine.Top(request, {}).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
  v1::DiffRequest diff;
  *diff.mutable_top() = request;
  EXPECT_THAT(std::string(engine.Diff(diff, {}).status().message()), HasSubstr("has no pages"));
}

class OneMark : public MarkSource {
 public:
  std::vector<v1::Mark> Between(double start_s, double end_s,
                                const std::set<std::string>&) const override {
    v1::Mark mark;
    mark.set_id("1a2b3c4d");
    mark.set_time_s(kStart + 4);
    mark.set_text("deploy");
    mark.set_by("olga");
    if (mark.time_s() < start_s || mark.time_s() >= end_s) return {};
    return {mark};
  }
};

TEST(EventPagesTest, GoBackInTimeWithoutLossOrRepeatAndNotesStandAmongThem) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  for (uint64_t start : {kStart, kStart + 10}) {
    BodyMaker maker;
    for (uint32_t i = 0; i < 3; ++i) {
      v1::DiscreteEvent* event = maker.body().add_events();
      event->set_type(v1::EVENT_TYPE_EXEC);
      event->set_time_ms(i / 2 * 5000);  // two share a time
      event->set_pid(static_cast<uint32_t>(start - kStart) + i + 1);
    }
    source.AddEpoch(node, start, 10, maker.body());
  }
  const OneMark mark;
  EngineOptions options;
  options.source = &source;
  options.marks = &mark;
  options.now_ns = [] { return (kStart + 30) * kS; };
  const Engine engine(options);
  auto request = Asked<v1::EventsRequest>(kStart, kStart + 20);
  request.set_limit(2);
  std::vector<std::vector<uint32_t>> pages;  // pids; 0: the note
  std::vector<uint32_t> left_out;
  for (int page = 0; page < 10; ++page) {
    const auto answer = engine.Events(request, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    pages.emplace_back();
    for (const v1::EventAnswer& event : answer->events()) pages.back().push_back(event.pid());
    left_out.push_back(answer->left_out());
    if (answer->next_page().empty()) break;
    request.set_page(answer->next_page());
  }
  EXPECT_THAT(pages, ElementsAre(ElementsAre(12, 13), ElementsAre(3, 11), ElementsAre(2, 0),
                                 ElementsAre(1)));
  EXPECT_THAT(left_out, ElementsAre(5, 3, 1, 0));
  request.set_page("1.2.3");
  EXPECT_EQ(engine.Events(request, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace telltale::query
