// What a terminal shows of an answer in pages, and the command that it says comes next.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "collector/cli/render.h"
#include "collector/cli/retyped.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

using ::testing::HasSubstr;

const absl::TimeZone kZone = absl::FixedTimeZone(3600);  // UTC+1
const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 20, 12, 0, 0), kZone);

TEST(NextPageTest, TheCommandAsksForTheTimeOfThisPageWheneverItIsTyped) {
  v1::Selection asked;
  asked.set_start_s(static_cast<double>(1'763'632'800'123'456) * 1e-6);
  asked.set_end_s(1'763'636'400.654321);
  asked.set_tier(v1::TIER_5MIN);
  const std::string command = NextPage({"/usr/bin/telltale", "top", "--from", "-1h", "--tier=5m",
                                        "--vital", "cpu", "--page=2.1", "--limit", "3"},
                                       asked, "2.3", kZone);
  EXPECT_EQ(command,
            "telltale top --vital cpu --limit 3 --from 2025-11-20T11:00:00.123456+01:00 --to "
            "2025-11-20T12:00:00.654321+01:00 --tier 5m --page 2.3");
  const std::vector<std::string> words = absl::StrSplit(command, ' ');
  const absl::Time from = *ParseMoment(words[7], kNow, kZone);
  EXPECT_EQ(static_cast<double>(absl::ToUnixMicros(from)) * 1e-6, asked.start_s())
      << "the collector takes a page for no other time";
}

TEST(RenderPageTest, RowsOfPagesBeforeAreOneLine) {
  v1::TopAnswer answer;
  v1::TopTable* table = answer.add_tables();
  table->set_vital("cpu");
  table->set_unit("s");
  table->set_by(v1::DIMENSION_PROCESS);
  table->set_total(10);
  table->set_exact(true);
  table->set_rows_before(2);
  table->set_before(7);
  table->set_state(v1::VITAL_STATE_ACTIVE);
  v1::TopRow* row = table->add_rows();
  row->set_name("spin");
  row->set_value(3);
  row->set_share(0.3);
  const View view{Style{}, kZone, kNow};
  const std::string text = RenderTop(answer, view);
  EXPECT_THAT(text, HasSubstr("(2 rows before)  7.00 s  70.0 %"));
  EXPECT_LT(text.find("(2 rows before)"), text.find("spin"));
  table->clear_rows();
  EXPECT_THAT(RenderTop(answer, view), HasSubstr("all rows are on pages before"));
}

}  // namespace
}  // namespace telltale::cli
