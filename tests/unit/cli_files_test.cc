// Files the command line makes and reads: certificates, settings, spools.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <string>

#include "absl/time/clock.h"
#include "collector/cli/files.h"
#include "collector/cli/pki_command.h"
#include "collector/cli/settings.h"
#include "collector/cli/spool_file.h"
#include "collector/pki/certificate.h"
#include "tests/support/temp_dir.h"

namespace telltale::cli {
namespace {

using ::testing::HasSubstr;

TEST(PkiTest, IssuesWhatItsAuthoritySignedAndNeverOverwrites) {
  testing::TempDir dir;
  PkiFlags flags;
  flags.dir = dir.path() + "/pki";
  ASSERT_TRUE(PkiInit(flags, absl::Now()).ok());
  EXPECT_EQ(PkiInit(flags, absl::Now()).status().code(), absl::StatusCode::kAlreadyExists);
  flags.role = "node";
  flags.name = "db-1";
  ASSERT_TRUE(PkiIssue(flags, absl::Now()).ok());
  EXPECT_EQ(PkiIssue(flags, absl::Now()).status().code(), absl::StatusCode::kAlreadyExists);
  const auto facts = pki::ReadCertificates(*ReadFile(flags.dir + "/node-db-1.crt", 1 << 20));
  ASSERT_TRUE(facts.ok());
  EXPECT_THAT(facts->front().uris, ::testing::ElementsAre("telltale://node/db-1"));
  EXPECT_FALSE(facts->front().authority);
  struct stat info {};
  ASSERT_EQ(stat((flags.dir + "/node-db-1.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(*pki::KeyFits(*ReadFile(flags.dir + "/node-db-1.crt", 1 << 20),
                            *ReadFile(flags.dir + "/node-db-1.key", 1 << 20)));
  flags.name = "../evil";
  EXPECT_EQ(PkiIssue(flags, absl::Now()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SettingsTest, FlagBeatsEnvironmentBeatsFile) {
  testing::TempDir dir;
  const std::string file = dir.path() + "/telltale.yaml";
  ASSERT_TRUE(WriteFile(file, "collector: from-file\ntls: {ca: f.ca, cert: f.crt, key: f.key}\n",
                        0600, false)
                  .ok());
  SettingsSources sources;
  sources.files = {file};
  std::map<std::string, std::string> environment;
  sources.environment = [&](const std::string& name) { return environment[name]; };
  EXPECT_EQ(LoadSettings(sources)->collector, "from-file:7410");
  environment["TELLTALE_COLLECTOR"] = "from-env:1";
  EXPECT_EQ(LoadSettings(sources)->collector, "from-env:1");
  sources.flags.collector = "from-flag:2";
  EXPECT_EQ(LoadSettings(sources)->collector, "from-flag:2");
  EXPECT_EQ(LoadSettings(sources)->cert, "f.crt");
  ASSERT_TRUE(WriteFile(file, "collektor: x\n", 0600, true).ok());
  EXPECT_THAT(std::string(LoadSettings(sources).status().message()),
              HasSubstr("line 1: key \"collektor\" is unknown"));
}

TEST(SpoolFileTest, SaysWhereTheDamageIs) {
  EXPECT_THAT(std::string(ReadSpoolFile("TTSPOOL1\x01\xff\xff\xff\xff").damage.message()),
              HasSubstr("byte 8 of 13: chunk of 4294967295 bytes, limit"));
  EXPECT_THAT(std::string(ReadSpoolFile("TTSPOOL1\x01").damage.message()),
              HasSubstr("ends inside the head"));
  EXPECT_THAT(std::string(ReadSpoolFile("nothing").damage.message()),
              HasSubstr("does not begin with TTSPOOL1"));
  EXPECT_TRUE(ReadSpoolFile("TTSPOOL1").damage.ok());
}

}  // namespace
}  // namespace telltale::cli
