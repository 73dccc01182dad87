#include "collector/config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "config/values.h"

namespace telltale::collector {
namespace {

config::Change Difference(Config before, Config after) {
  return config::Compare(CollectorOptions(before), CollectorOptions(after));
}

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    char name[] = "/tmp/telltale-config-XXXXXX";
    const int fd = mkstemp(name);
    if (fd >= 0) close(fd);
    file_ = name;
    sources_.default_file = "/nonexistent";
  }
  ~ConfigTest() override { unlink(file_.c_str()); }

  void Write(const std::string& text) {
    std::ofstream(file_) << text;
    sources_.file = file_;
  }
  std::string Error() {
    const auto loaded = LoadConfig(sources_);
    return loaded.ok() ? "" : std::string(loaded.status().message());
  }

  std::string file_;
  config::Sources sources_;
};

TEST_F(ConfigTest, AFlagWinsOverTheEnvironmentOverTheFileOverTheDefault) {
  Write("data: /from/file\nlisten:\n  grpc: 127.0.0.1:1\ntls: {ca: /file/ca}\n");
  sources_.environment = {{"TELLTALE_COLLECTOR_LISTEN_GRPC", "127.0.0.1:2"},
                          {"TELLTALE_COLLECTOR_TLS_CA", "/env/ca"},
                          {"PATH", "/bin"}};
  sources_.flags = {{"tls.ca", "/flag/ca"}};
  const auto loaded = LoadConfig(sources_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->values.tls_ca, "/flag/ca");
  EXPECT_EQ(loaded->values.listen_grpc, "127.0.0.1:2");
  EXPECT_EQ(loaded->values.data, "/from/file");
  EXPECT_EQ(loaded->values.ingest_spread_s, 55u);
}

TEST_F(ConfigTest, AnUnknownKeyIsNamedWithItsLineAndTheNearestOne) {
  Write("data: /d\ntls:\n  cert: c\n  kye: k\n");
  EXPECT_EQ(Error(), "config " + file_ + ":4: unknown key tls.kye; did you mean tls.key?");
}

TEST_F(ConfigTest, AnUnknownVariableIsNamedWithTheNearestOne) {
  sources_.environment = {{"TELLTALE_COLLECTOR_DATTA", "x"}};
  EXPECT_EQ(Error(),
            "environment: unknown variable TELLTALE_COLLECTOR_DATTA; did you mean "
            "TELLTALE_COLLECTOR_DATA?");
}

TEST_F(ConfigTest, ABadValueIsNamedWithWhatIsAllowed) {
  Write("ingest:\n  spread: 2min\n");
  EXPECT_EQ(Error(),
            "config " + file_ + ":2: ingest.spread: \"2min\" must be a duration from 0s to 1min");
}

TEST_F(ConfigTest, BrokenYamlIsOneLineWithItsPlace) {
  Write("data: [unclosed\n");
  EXPECT_EQ(Error().rfind("config " + file_ + ":2:", 0), 0u) << Error();
  EXPECT_EQ(Error().find('\n'), std::string::npos);
}

TEST_F(ConfigTest, AKeyGivenTwiceIsAnError) {
  Write("data: /a\ndata: /b\n");
  EXPECT_NE(Error().find("data: given twice"), std::string::npos) << Error();
}

TEST_F(ConfigTest, AMissingFileIsAnErrorOnlyIfItWasAskedFor) {
  EXPECT_EQ(Error(), "");
  sources_.file = "/nonexistent/collector.yaml";
  EXPECT_NE(Error().find("/nonexistent/collector.yaml: cannot be read: No such file"),
            std::string::npos);
}

TEST_F(ConfigTest, ThePrintedConfigurationReadsBackAsTheSame) {
  sources_.flags = {{"retention.raw", "7d"}, {"ingest.queue_bytes", "8MiB"}, {"tls.crl", ""}};
  const auto first = LoadConfig(sources_);
  ASSERT_TRUE(first.ok()) << first.status();
  Write(PrintConfig(*first));
  sources_.flags.clear();
  const auto second = LoadConfig(sources_);
  ASSERT_TRUE(second.ok()) << second.status();
  const config::Change change = Difference(first->values, second->values);
  EXPECT_TRUE(change.fixed.empty() && change.reloadable.empty());
  EXPECT_EQ(second->values.retention_raw_s, 7u * 86400);
}

TEST_F(ConfigTest, WhatFiltersAreToldIsANumberByTheNameOfTheFilter) {
  const std::map<std::string, double> wanted = {{"crowded.taken", 0.8}, {"rule_held.learn", 1e15}};
  Write("filters:\n  options:\n    crowded.taken: 0.8\n    rule_held.learn: 1e15\n");
  const auto loaded = LoadConfig(sources_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->values.filters_options, wanted);
  Write(PrintConfig(*loaded));
  const auto again = LoadConfig(sources_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->values.filters_options, wanted);
  Write("");
  for (const char* wrong : {"taken=1", "Crowded.taken=1", ".taken=1", "crowded.=1", "crowded/a.b=1",
                            "crowded.taken=many", "crowded.taken=inf", "crowded.taken=nan",
                            "crowded.taken=2e15", "crowded.taken"}) {
    sources_.flags = {{"filters.options", wrong}};
    EXPECT_NE(Error().find("filters.options"), std::string::npos) << wrong;
  }
  std::string many;
  for (int i = 0; i < 129; ++i) many += "a.k" + std::to_string(i) + "=1,";
  sources_.flags = {{"filters.options", many}};
  EXPECT_NE(Error().find("must be 128 at most"), std::string::npos);
}

TEST_F(ConfigTest, AChangeIsSortedByWhetherItNeedsARestart) {
  Config after;
  after.log_level = "debug";
  after.data = "/elsewhere";
  const config::Change change = Difference(Config(), after);
  EXPECT_EQ(change.reloadable, std::vector<std::string>{"log.level"});
  EXPECT_EQ(change.fixed, std::vector<std::string>{"data"});
}

TEST_F(ConfigTest, TheSampleFileIsValidAndSaysTheDefaults) {
  sources_.file = "deploy/collector.yaml";
  const auto loaded = LoadConfig(sources_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const config::Change change = Difference(Config(), loaded->values);
  EXPECT_TRUE(change.fixed.empty() && change.reloadable.empty());
  Config values;
  const config::OptionTable table = CollectorOptions(values);
  for (const config::Option& option : table.options()) {
    EXPECT_TRUE(loaded->from.origin.contains(option.info.key))
        << option.info.key << " is not there";
  }
}

TEST_F(ConfigTest, ALimitThatWouldDropEverythingIsRefused) {
  sources_.flags = {{"retention.max_bytes", "1KiB"}};
  EXPECT_EQ(Error(),
            "retention.max_bytes: 1KiB holds less than a day of one node, and whole days go at a "
            "time; want 0 (no limit) or 64MiB and more");
  sources_.flags = {{"retention.max_bytes", "64MiB"}};
  EXPECT_EQ(Error(), "");
}

TEST(ConfigValuesTest, UnitsAreExact) {
  EXPECT_EQ(*config::ParseSeconds("5y", 0, UINT64_MAX), 157680000u);
  EXPECT_EQ(*config::ParseSeconds("5min", 0, UINT64_MAX), 300u);
  EXPECT_EQ(*config::ParseSeconds("90", 0, UINT64_MAX), 90u);
  EXPECT_EQ(*config::ParseBytes("256KiB", 0, UINT64_MAX), 262144u);
  EXPECT_FALSE(config::ParseBytes("99999999999999TiB", 0, UINT64_MAX).ok());
  EXPECT_FALSE(config::ParseSeconds("5 min", 0, UINT64_MAX).ok());
  EXPECT_FALSE(config::ParseSeconds("-5s", 0, UINT64_MAX).ok());
}

TEST(ConfigValuesTest, AddressesInTheirThreeForms) {
  EXPECT_EQ(config::ParseAddress(":7410")->host, "");
  EXPECT_EQ(config::ParseAddress("10.0.0.1:7410")->port, 7410);
  EXPECT_EQ(config::ParseAddress("[::1]:0")->host, "::1");
  EXPECT_FALSE(config::ParseAddress("localhost").ok());
  EXPECT_FALSE(config::ParseAddress("::1:7410").ok());
  EXPECT_FALSE(config::ParseAddress("h:65536").ok());
}

}  // namespace
}  // namespace telltale::collector
