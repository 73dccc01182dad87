// How the programs read their configuration: who wins, and what a mistake is answered with.

#include <fstream>
#include <string>

#include "agent/config.h"
#include "config/load.h"
#include "config/options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace telltale {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::TempDir;

class ConfigTest : public ::testing::Test {
 protected:
  std::string File(const std::string& text) {
    const std::string path = TempDir() + "/config_test.yaml";
    std::ofstream(path) << text;
    return path;
  }
  absl::Status Load(const config::Sources& sources) {
    const config::OptionTable table = agent::AgentOptions(config_);
    auto loaded = config::Load(table, sources);
    if (loaded.ok()) printed_ = config::Print(table, *loaded);
    return loaded.status();
  }
  std::string Refusal(const std::string& yaml) {
    return std::string(Load({.file = File(yaml)}).message());
  }

  agent::Config config_;
  std::string printed_;
};

TEST_F(ConfigTest, AMistakeIsShownWithoutWhatATerminalWouldObey) {
  for (const char* yaml : {"\"epo\\x1b[2Jch\": 10s\n", "epoch: \"a\\nb\"\n"}) {
    const std::string refusal = Refusal(yaml);
    EXPECT_THAT(refusal, HasSubstr("\\x"));
    for (const char c : refusal) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << refusal;
  }
}

TEST_F(ConfigTest, AFileThatIsNotUtf8IsRefused) {
  EXPECT_TRUE(Load({.file = File("spool: {dir: /\xc3\xa9}\n")}).ok());
  for (const char* bytes :
       {"\xff", "\xe9sc", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe9"}) {
    EXPECT_THAT(Refusal(std::string("spool: {dir: /") + bytes + "}\n"), HasSubstr("is not UTF-8"));
  }
}

// A zero byte before a letter was read as an escape, and the value printed as another one.
TEST_F(ConfigTest, AFileWithControlCharactersIsRefused) {
  EXPECT_THAT(Refusal(std::string("epoch: 10s\ncollector: a\0N4\n", 27)),
              HasSubstr(":2: the byte 0x00 is no text"));
  EXPECT_TRUE(Load({.file = File("epoch: 10s\t# as usual\r\n")}).ok());
}

TEST_F(ConfigTest, TheSampleFileSaysTheDefaultOfEachOption) {
  agent::Config defaults;
  const config::OptionTable table = agent::AgentOptions(defaults),
                            read = agent::AgentOptions(config_);
  const auto loaded = config::Load(read, {.file = "deploy/agent.yaml"});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const config::Option& option : table.options()) {
    // Only tests make epochs up.
    if (option.info.key == "sensor.replay_seed") continue;
    EXPECT_TRUE(loaded->origin.contains(option.info.key)) << option.info.key << " is not there";
    EXPECT_EQ(read.Find(option.info.key)->get(), option.get()) << option.info.key;
  }
}

TEST_F(ConfigTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const std::string file = File("collector: file:1\nepoch: 10s\nspool:\n  dir: /file\n");
  ASSERT_TRUE(Load({.file = file,
                    .environment = {{"TELLTALE_AGENT_COLLECTOR", "env:2"},
                                    {"TELLTALE_AGENT_SPOOL_DIR", "/env"},
                                    {"HOME", "/root"}},
                    .flags = {{"collector", "flag:3"}}})
                  .ok());
  EXPECT_EQ(config_.collector, "flag:3");
  EXPECT_EQ(config_.spool_dir, "/env");
  EXPECT_EQ(config_.epoch_s, 10u);
  EXPECT_EQ(config_.spool_max_bytes, 256ull << 20);
  EXPECT_THAT(
      printed_,
      AllOf(HasSubstr("collector: flag:3  # flag;"), HasSubstr("  dir: /env  # environment;"),
            HasSubstr("epoch: 10s  # file;"), HasSubstr("  max_bytes: 256MiB  # default;")));
}

TEST_F(ConfigTest, AMisspeltKeyNamesItsLineAndTheNearestKey) {
  EXPECT_THAT(Refusal("epoch: 10s\nspool:\n  max_byte: 1MiB\n"),
              AllOf(HasSubstr(":3:"), HasSubstr("unknown key spool.max_byte"),
                    HasSubstr("did you mean spool.max_bytes?")));
}

TEST_F(ConfigTest, AnEpochThatDoesNotDivideAMinuteIsRefused) {
  EXPECT_THAT(Refusal("epoch: 7s\n"),
              AllOf(HasSubstr(":1: epoch: \"7s\""), HasSubstr("divide a minute")));
}

TEST_F(ConfigTest, BrokenYamlNamesLineAndColumn) {
  EXPECT_THAT(Refusal("collector: [unclosed\n"), HasSubstr("not valid YAML"));
}

TEST_F(ConfigTest, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(std::string(Load({.file = "/nowhere/agent.yaml"}).message()),
              AllOf(HasSubstr("/nowhere/agent.yaml"), HasSubstr("No such file")));
}

TEST_F(ConfigTest, LabelsAreAMappingInTheFileAndPairsInAFlag) {
  ASSERT_TRUE(Load({.file = File("labels:\n  role: db\n  rack: a7\n")}).ok());
  EXPECT_EQ(config_.labels, (std::map<std::string, std::string>{{"rack", "a7"}, {"role", "db"}}));
  ASSERT_TRUE(Load({.flags = {{"labels", "role=web"}}}).ok());
  EXPECT_EQ(config_.labels, (std::map<std::string, std::string>{{"role", "web"}}));
  EXPECT_THAT(Refusal("labels:\n  role: \"d b\"\n"), HasSubstr("key=value pairs"));
}

TEST_F(ConfigTest, WhatIsPrintedIsReadBackTheSame) {
  ASSERT_TRUE(Load({.flags = {{"labels", "role=web"}, {"epoch", "15s"}}}).ok());
  const std::string first = printed_;
  config_ = {};
  ASSERT_TRUE(Load({.file = File(first)}).ok()) << first;
  EXPECT_EQ(config_.labels.at("role"), "web");
  EXPECT_EQ(config_.epoch_s, 15u);
}

TEST_F(ConfigTest, AComparisonTellsWhatNeedsARestart) {
  agent::Config other;
  other.log_level = "debug";
  other.collector = "elsewhere:7410";
  const auto change = config::Compare(agent::AgentOptions(config_), agent::AgentOptions(other));
  EXPECT_THAT(change.reloadable, ::testing::ElementsAre("log.level"));
  EXPECT_THAT(change.fixed, ::testing::ElementsAre("collector"));
}

}  // namespace
}  // namespace telltale
