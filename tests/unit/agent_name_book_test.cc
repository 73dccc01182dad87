// When the names of code are sent, again, and forgotten.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/symbols/name_book.h"
#include "proto/codec.h"
#include "tests/unit/replayed_node.h"

namespace telltale::agent {
namespace {

TEST(NameBookTest, SendsEveryNameOnceAndAgainToAnotherStore) {
  constexpr uint64_t kNow = 1'700'000'000 * kSecond;
  ReplayedNode node;
  const CutResult cut = node.Epoch(20);
  const std::vector<v1::Names> first = node.names.Unsent(cut.body.tables(), kNow);
  ASSERT_GE(first.size(), 3u);
  std::set<std::string> functions;
  for (const v1::Names& names : first) {
    ASSERT_TRUE(proto::CheckNames(names).ok()) << proto::CheckNames(names);
    functions.insert(names.name().begin(), names.name().end());
  }
  EXPECT_THAT(functions, testing::Contains("__schedule"));
  EXPECT_TRUE(node.names.Unsent(cut.body.tables(), kNow).empty());
  node.names.ForgetSent();
  EXPECT_EQ(node.names.Unsent(cut.body.tables(), kNow).size(), first.size());
}

TEST(NameBookTest, SendsANameAgainAWeekLaterWhicheverWayTheClockWent) {
  constexpr uint64_t kNow = 1'700'000'000 * kSecond;
  ReplayedNode node;
  const CutResult cut = node.Epoch(20);
  const auto unsent = [&](uint64_t now) {
    return node.names.Unsent(cut.body.tables(), now).size();
  };
  const size_t all = unsent(kNow);
  ASSERT_GE(all, 3u);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs - 1), 0u);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs), all);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs + 1), 0u);
  EXPECT_EQ(unsent(kNow), all) << "the clock was set back";
}

TEST(NameBookTest, ForgetsTheOldestHalfWhenFull) {
  NameBook book(100);
  const auto file = std::make_shared<const CodeFile>(
      CodeFile{v1::MAPPING_KIND_FILE, std::string(20, 'x'), "/bin/x"});
  for (uint64_t i = 0; i < 1'000; ++i) book.Learn({file, i}, {v1::NAME_OUTCOME_NAMED, "f"});
  EXPECT_LE(book.size(), 100u);
  EXPECT_EQ(book.Known({file, 999}), v1::NAME_OUTCOME_NAMED);
  EXPECT_EQ(book.Known({file, 0}), v1::NAME_OUTCOME_UNSPECIFIED);
}

TEST(NameBookTest, RemembersWhyThereIsNoNameUnlessThatMayChange) {
  NameBook book;
  const auto file = std::make_shared<const CodeFile>(
      CodeFile{v1::MAPPING_KIND_FILE, std::string(20, 'x'), "/bin/x"});
  book.Learn({file, 1}, {v1::NAME_OUTCOME_NO_SYMBOL, ""});
  book.Learn({file, 2}, {v1::NAME_OUTCOME_NO_FILE, ""});
  EXPECT_EQ(book.Known({file, 1}), v1::NAME_OUTCOME_NO_SYMBOL);
  EXPECT_EQ(book.Known({file, 2}), v1::NAME_OUTCOME_UNSPECIFIED);
}

}  // namespace
}  // namespace telltale::agent
