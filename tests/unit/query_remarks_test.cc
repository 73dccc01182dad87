// What was remarked on a node, from its record to the line `telltale nodes` prints.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "collector/cli/render.h"
#include "storage/node_registry.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::HasSubstr;

std::string Printed(const FakeSource& source) {
  const auto answer = MakeEngine(source, 1'000).Nodes({}, [] { return false; });
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (!answer.ok()) return "";
  return cli::RenderNodes(*answer, {cli::Style{}, absl::UTCTimeZone(), absl::FromUnixSeconds(0)});
}

TEST(RemarksTest, EveryKindThereIsIsNamedInALineOfItsOwn) {
  const std::map<v1::RemarkKind, std::string> names = {
      {v1::REMARK_KIND_CLOCK, "clock"},
      {v1::REMARK_KIND_CLONE, "clone"},
      {v1::REMARK_KIND_CONFLICT, "conflict"},
      {v1::REMARK_KIND_REINSTALLED, "reinstalled"},
      {v1::REMARK_KIND_IMPLAUSIBLE, "implausible"},
      {v1::REMARK_KIND_QUOTA, "quota"},
      {v1::REMARK_KIND_REFUSED, "refused"},
      {v1::REMARK_KIND_OTHER, "other"},
      {v1::REMARK_KIND_SPOOL, "spool"},
      {v1::REMARK_KIND_LATE, "too late"},
      {v1::REMARK_KIND_OVERLAP, "overlap"},
      {v1::REMARK_KIND_CLOCK_STEP, "clock step"},
  };
  const auto* kinds = v1::RemarkKind_descriptor();
  FakeSource source;
  storage::NodeRecord& record = source.Node(source.AddNode("db-1"));
  for (int i = 0; i < kinds->value_count(); ++i) {
    const auto kind = static_cast<v1::RemarkKind>(kinds->value(i)->number());
    if (kind == v1::REMARK_KIND_UNSPECIFIED) continue;
    const std::string text = absl::StrCat("what number ", i, " says");
    storage::NodeRegistry::AddRemark(record, kind, text, 1);
    storage::NodeRegistry::AddRemark(record, kind, text, 2);
  }
  const std::string printed = Printed(source);
  std::set<std::string> used;
  for (int i = 0; i < kinds->value_count(); ++i) {
    const auto kind = static_cast<v1::RemarkKind>(kinds->value(i)->number());
    if (kind == v1::REMARK_KIND_UNSPECIFIED) continue;
    const auto name = names.find(kind);
    ASSERT_NE(name, names.end()) << kinds->value(i)->name() << " has no name here";
    EXPECT_TRUE(used.insert(name->second).second) << name->second << " names two kinds";
    EXPECT_THAT(printed, HasSubstr(absl::StrCat("\ndb-1: ", name->second, ": what number ", i,
                                                " says (x 2)\n")));
  }
}

TEST(RemarksTest, TimesAndAmountsOfOverlapsAndStepsAreThoseOfTheLatest) {
  FakeSource source;
  storage::NodeRecord& record = source.Node(source.AddNode("db-1"));
  for (const auto kind : {v1::REMARK_KIND_OVERLAP, v1::REMARK_KIND_CLOCK_STEP}) {
    for (int i = 1; i <= 100; ++i) {
      storage::NodeRegistry::AddRemark(record, kind, absl::StrCat("by ", i, " s"), i);
    }
  }
  const std::string printed = Printed(source);
  EXPECT_THAT(printed, HasSubstr("\ndb-1: overlap: by 100 s (x 100)\n"));
  EXPECT_THAT(printed, HasSubstr("\ndb-1: clock step: by 100 s (x 100)\n"));
  EXPECT_EQ(record.remarks_size(), 2);
}

}  // namespace
}  // namespace telltale::query
