// `telltale dump` of the spool's state and incarnation, as the agent writes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "absl/strings/str_format.h"
#include "agent/spool/spool_state.h"
#include "collector/cli/spool_state_file.h"

namespace telltale::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Slot() {
  agent::SpoolState state;
  state.generation = 12;
  state.next = 345;
  state.held[344] = {1'700'000'400'000'000'000, 1'700'000'460'000'000'000};
  v1::Lost lost;
  lost.set_first_sequence(5);
  lost.set_last_sequence(9);
  lost.set_reason(v1::Lost::SPOOL_FULL);
  lost.set_detail("limit of 1 MiB");
  state.AddLost(lost);
  return state.Encode();
}

TEST(SpoolStateFileTest, WhatTheAgentWritesIsReadableInFull) {
  ASSERT_TRUE(IsSpoolState(Slot()));
  const auto file = ReadSpoolState(Slot());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(
      file->text,
      AllOf(HasSubstr("generation      12\n"), HasSubstr("next sequence   345 or above\n"),
            HasSubstr("in memory only  344: 2023-11-14 22:20:00 UTC to 2023-11-14 22:21:00"),
            HasSubstr("lost            5 to 9: SPOOL_FULL, an unknown time to an unknown "
                      "time; limit of 1 MiB\n")));
  EXPECT_EQ(file->fields.fields().at("next").string_value(), "345");
  EXPECT_EQ(file->fields.fields().at("held").list_value().values_size(), 1);
  EXPECT_EQ(file->fields.fields().at("lost").list_value().values_size(), 1);
}

TEST(SpoolStateFileTest, DamageIsNamed) {
  std::string slot = Slot();
  slot[40] ^= 1;
  EXPECT_THAT(std::string(ReadSpoolState(slot).status().message()), HasSubstr("checksum"));
  EXPECT_THAT(std::string(ReadSpoolState(Slot().substr(0, 30)).status().message()),
              HasSubstr("no checksum line"));
  EXPECT_FALSE(ReadSpoolState("TTSPOOL1").ok());
}

TEST(SpoolStateFileTest, ANumberIsDigitsAlone) {
  const std::string lines = "telltale-spool-state 1\ngeneration \r\v12\n";
  const std::string slot =
      lines + absl::StrFormat("checksum %016x\n", XXH3_64bits(lines.data(), lines.size()));
  EXPECT_THAT(std::string(ReadSpoolState(slot).status().message()), HasSubstr("grammar"));
}

TEST(SpoolStateFileTest, TheAgentTakesNoNegativeNumbersEither) {
  for (const char* line : {"generation -1\n", "next -1\n", "held -1 1 1\n", "lost 1 2 -3 0 0 \n",
                           "lost 1 -2 3 0 0 \n", "next 1-1\n"}) {
    const std::string lines = std::string("telltale-spool-state 1\n") + line;
    std::string slot =
        lines + absl::StrFormat("checksum %016x\n", XXH3_64bits(lines.data(), lines.size()));
    slot.resize(agent::SpoolState::kSlotBytes, '\0');
    EXPECT_FALSE(agent::SpoolState::Decode(slot).ok()) << line;
    EXPECT_FALSE(ReadSpoolState(slot).ok()) << line;
  }
}

TEST(SpoolStateFileTest, AnIncarnationIsThirtyTwoDigits) {
  const std::string file = "0123456789abcdef0123456789ABCDEF\n";
  ASSERT_TRUE(IsIncarnation(file));
  EXPECT_EQ(ReadIncarnation(file)->text, "incarnation 0123456789abcdef0123456789abcdef\n");
  EXPECT_FALSE(IsIncarnation(file.substr(1)));
  EXPECT_FALSE(IsIncarnation("x123456789abcdef0123456789abcdef\n"));
  EXPECT_FALSE(ReadIncarnation("0123").ok());
}

}  // namespace
}  // namespace telltale::cli
