// Notes are there after a restart, gone when taken back, and never more than there is room for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "collector/marks/mark_book.h"
#include "storage/memory_catalog.h"

namespace telltale::marks {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNow = 1'700'000'000'000'000'000;
constexpr double kNowS = 1.7e9;

class MarksTest : public ::testing::Test {
 protected:
  std::unique_ptr<MarkBook> Open() {
    auto book = MarkBook::Open(
        &catalog_, [] { return kNow; },
        [](const std::string& node) -> absl::Status {
          if (node == "web-1") return absl::OkStatus();
          return absl::NotFoundError("note: node is unknown");
        });
    EXPECT_TRUE(book.ok()) << book.status();
    return *std::move(book);
  }
  static v1::AddMarkRequest Note(const std::string& text, double time_s = 0,
                                 const std::string& node = "") {
    v1::AddMarkRequest request;
    request.set_text(text);
    request.set_time_s(time_s);
    request.set_node(node);
    return request;
  }

  storage::MemoryCatalog catalog_;
};

TEST_F(MarksTest, ANoteIsThereAfterARestartAndGoneWhenTakenBack) {
  std::string id;
  {
    const auto book = Open();
    ASSERT_TRUE(book->Add(Note("deploy 1.2", kNowS - 100, "web-1"), "olga").ok());
    const auto second = book->Add(Note("now"), "olga");
    ASSERT_TRUE(second.ok()) << second.status();
    id = second->mark().id();
    EXPECT_DOUBLE_EQ(second->mark().time_s(), kNowS);
  }
  const auto book = Open();
  const std::vector<v1::Mark> marks = book->Between(0, kNowS + 1);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].text(), "deploy 1.2");
  EXPECT_EQ(marks[0].node(), "web-1");
  EXPECT_EQ(marks[0].by(), "olga");
  EXPECT_EQ(book->Between(0, kNowS).size(), 1u);
  ASSERT_TRUE(book->Remove(id).ok());
  EXPECT_EQ(book->Remove(id).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Open()->Between(0, kNowS + 1).size(), 1u);
}

TEST_F(MarksTest, WhatMakesNoSenseIsRefusedByName) {
  const auto book = Open();
  const auto said = [&](const v1::AddMarkRequest& request) {
    return std::string(book->Add(request, "olga").status().message());
  };
  EXPECT_THAT(said(Note("")), HasSubstr("text of 0 bytes must be 1 to 300"));
  EXPECT_THAT(said(Note(std::string(301, 'x'))), HasSubstr("text of 301 bytes"));
  EXPECT_THAT(said(Note("x", -1)), HasSubstr("time -1 must be"));
  EXPECT_THAT(said(Note("x", kNowS + 2 * MarkBook::kMaxAheadS)), HasSubstr("at most a year"));
  EXPECT_THAT(said(Note("x", 0, "web-9")), HasSubstr("unknown"));
  EXPECT_TRUE(book->Between(0, 1e12).empty());
}

TEST_F(MarksTest, WhatATerminalWouldObeyIsNotKept) {
  const auto book = Open();
  const auto added = book->Add(Note("a\x1b[2Jb"), "olga");
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(added->mark().text().find('\x1b'), std::string::npos);
}

TEST_F(MarksTest, TheEarliestMakesRoomAndIsTold) {
  const auto book = Open();
  for (size_t i = 0; i < MarkBook::kMaxMarks; ++i) {
    ASSERT_FALSE(book->Add(Note("n", 1000 + static_cast<double>(i)), "olga")->has_dropped());
  }
  const auto more = book->Add(Note("last"), "olga");
  ASSERT_TRUE(more.ok());
  EXPECT_DOUBLE_EQ(more->dropped().time_s(), 1000);
  EXPECT_EQ(book->Between(0, 1e12).size(), MarkBook::kMaxMarks);
  EXPECT_EQ(Open()->Between(0, 1e12).size(), MarkBook::kMaxMarks);
}

// Ten executables upgraded on a thousand nodes within minutes.
TEST_F(MarksTest, TheSameOnManyNodesWithinTheHourIsOneMark) {
  auto book = Open();
  const auto roll_out = [&](uint64_t since_ns) {
    for (uint64_t node = 0; node < 1'000; ++node) {
      for (int exe = 0; exe < 10; ++exe) {
        ASSERT_TRUE(book->Notice("new_label", absl::StrCat("web-", node),
                                 kNow + since_ns + node * 1'000'000'000,
                                 absl::StrCat("deploy: app", exe, " has another build id"))
                        .ok());
      }
    }
  };
  roll_out(0);
  const size_t once = book->Between(0, kNowS + 7'200).size();
  EXPECT_EQ(once, 10 * (1'000 / MarkBook::kMaxNodes + 1));
  roll_out(0);
  EXPECT_EQ(book->Between(0, kNowS + 7'200).size(), once);
  book = Open();
  roll_out(0);
  const auto marks = book->Between(0, kNowS + 7'200);
  ASSERT_EQ(marks.size(), once) << "the same again, also after a restart";
  EXPECT_EQ(marks[0].node(), "web-0");
  EXPECT_EQ(static_cast<size_t>(marks[0].more_nodes_size()) + 1, MarkBook::kMaxNodes);
  // The next one on the same nodes is another.
  ASSERT_TRUE(book->Notice("new_label", "web-0", kNow + 600'000'000'000,
                           "deploy: app0 has another build id")
                  .ok());
  ASSERT_TRUE(book->Notice("new_label", "web-0", kNow + 1'200'000'000'000,
                           "deploy: app0 has another build id")
                  .ok());
  const auto more = book->Between(0, kNowS + 7'200);
  EXPECT_EQ(std::ranges::count_if(more,
                                  [](const v1::Mark& mark) {
                                    return mark.text().starts_with("deploy: app0") &&
                                           (mark.node() == "web-0" ||
                                            std::ranges::count(mark.more_nodes(), "web-0") > 0);
                                  }),
            3);
}

// Nodes are upgraded from 0 to 50 minutes after the first; of one of them is asked.
TEST_F(MarksTest, ARolloutStandsOnEachNodeWhereThatNodeWasUpgraded) {
  constexpr uint64_t kMinute = 60'000'000'000;
  const auto book = Open();
  for (const uint64_t minute : {0, 25, 50}) {
    ASSERT_TRUE(book->Notice("new_label", absl::StrCat("web-", minute), kNow + minute * kMinute,
                             "deploy: app has another build id")
                    .ok());
  }
  const auto first = book->Between(kNowS - 1'800, kNowS + 7'200, {"web-25", "web-50"});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_DOUBLE_EQ(first[0].time_s(), kNowS + 25 * 60);
  EXPECT_EQ(first[0].node(), "web-25");
  ASSERT_EQ(first[0].more_nodes_size(), 1);
  EXPECT_EQ(first[0].more_nodes(0), "web-50");
  const auto late = book->Between(kNowS + 1'800, kNowS + 3'600, {"web-0", "web-25", "web-50"});
  ASSERT_EQ(late.size(), 1u) << "it was upgraded in this time";
  EXPECT_DOUBLE_EQ(late[0].time_s(), kNowS + 50 * 60);
  EXPECT_EQ(late[0].node(), "web-50");
  EXPECT_EQ(late[0].more_nodes_size(), 0);
  EXPECT_TRUE(book->Between(kNowS - 60, kNowS + 1'800, {"web-50"}).empty());
  // In the order of the times that are told, which is not that of the first nodes'.
  ASSERT_TRUE(book->Add(Note("raised the cache", kNowS + 600), "olga").ok());
  const auto both = book->Between(kNowS, kNowS + 3'600, {"web-50"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].by(), "olga");
}

TEST_F(MarksTest, AFilterThatNoticesMuchDrivesOutItsOwnAlone) {
  const auto book = Open();
  ASSERT_TRUE(book->Notice("new_label", "web-1", kNow, "deploy: nginx has another build id").ok());
  for (uint64_t i = 0; i < MarkBook::kMaxNoticed + 50; ++i) {
    ASSERT_TRUE(book->Notice("own", "web-1", kNow + 1 + i, absl::StrCat("it is ", i)).ok());
  }
  const auto marks = book->Between(kNowS - 1, kNowS + 60);
  ASSERT_EQ(marks.size(), MarkBook::kMaxNoticed);
  EXPECT_EQ(marks[0].by(), "filter new_label");
}

TEST_F(MarksTest, WhatFiltersNoticeStandsInTheSameListOnceAndDrivesNoNoteOut) {
  auto book = Open();
  ASSERT_TRUE(book->Add(Note("raised the cache", kNowS - 10), "olga").ok());
  const auto notice = [&](uint64_t i) {
    return book->Notice("new_label", "web-1", kNow + i, "deploy: nginx has another build id");
  };
  ASSERT_TRUE(notice(0).ok());
  ASSERT_TRUE(notice(0).ok());
  book = Open();
  ASSERT_TRUE(notice(0).ok());
  const auto both = book->Between(kNowS - 60, kNowS + 60);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].by(), "olga");
  EXPECT_EQ(both[1].by(), "filter new_label");
  EXPECT_EQ(both[1].node(), "web-1");
  for (uint64_t i = 1; i <= MarkBook::kMaxNoticed + 5; ++i) ASSERT_TRUE(notice(i).ok());
  const auto all = book->Between(kNowS - 60, kNowS + 60);
  EXPECT_EQ(all.size(), MarkBook::kMaxNoticed + 1);
  EXPECT_EQ(all[0].by(), "olga");
  ASSERT_TRUE(book->Remove(all[1].id()).ok());
  EXPECT_EQ(Open()->Between(kNowS - 60, kNowS + 60).size(), MarkBook::kMaxNoticed);
}

}  // namespace
}  // namespace telltale::marks
