// deploy/down --purge and a collector that was started by hand on the same directory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/collector_process.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;

ProgramRun Purge(const std::string& directory) {
  const TempDir scratch;
  Program program(scratch.path() + "/output");
  program.Start("/bin/bash", {"deploy/down", "--dir", directory, "--purge"});
  const int code = program.AwaitEnd();
  return {code, program.log()};
}

TEST(DeployDownTest, ADirectoryInUseIsNotRemovedAndTheUserIsNamed) {
  const TempDir scratch;
  const std::string directory = scratch.path() + "/state[1]";  // read as it is, not as a pattern
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/lock").flush();
  Pki pki(scratch.path(), "ca");
  CollectorProcess collector(directory + "/data", pki,
                             pki.Issue("collector", "DNS:localhost,IP:127.0.0.1"));
  ASSERT_TRUE(collector.Start()) << collector.log();

  const ProgramRun refused = Purge(directory);
  EXPECT_EQ(refused.exit_code, 1) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr(directory + " is not removed, it is still used by"));
  EXPECT_THAT(refused.output, HasSubstr("pid " + std::to_string(collector.pid()) + " ("));
  EXPECT_TRUE(std::filesystem::exists(directory + "/data/store"));

  EXPECT_EQ(collector.Stop(), 0);
  const ProgramRun removed = Purge(directory);
  EXPECT_EQ(removed.exit_code, 0) << removed.output;
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace telltale::testing
