// Programs whose file server is gone: the agent must not wait with them. A test that fails here
// may hang.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>

#include "agent/clock_ns.h"
#include "agent/symbols/host_resolver.h"
#include "agent/symbols/proc_maps.h"
#include "agent/symbols/process_maps.h"
#include "agent/unwind/host_unwinder.h"
#include "tests/support/program.h"
#include "tests/support/stalling_files.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {
namespace {

std::vector<MappedRegion> MapsOf(pid_t pid) {
  std::stringstream text;
  text << std::ifstream("/proc/" + std::to_string(pid) + "/maps").rdbuf();
  return ParseMaps(text.str(), 1'000);
}

// Some code of a file that a process has mapped; 0: none.
uint64_t CodeIn(pid_t pid, const std::string& path) {
  for (const MappedRegion& region : MapsOf(pid)) {
    if (region.path == path) return region.start;
  }
  return 0;
}

uint64_t Now() { return ClockNs(CLOCK_MONOTONIC); }

class StalledFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: mounts a file system";
    files_ = std::make_unique<telltale::testing::StallingFiles>(directory_.path(), "server",
                                                                "/bin/sleep");
    if (!files_->trouble().empty()) GTEST_SKIP() << files_->trouble();
    program_.Start(files_->path(), {"1000"});
    ASSERT_TRUE(
        telltale::testing::Await([&] { return CodeIn(program_.pid(), files_->path()) != 0; }));
    address_ = CodeIn(program_.pid(), files_->path());
    process_ = {.tgid = static_cast<uint32_t>(program_.pid())};
  }
  void TearDown() override {
    if (files_) files_->Go();
    program_.Kill();
  }

  FunctionName NameAt(HostResolver& resolver, uint64_t now_ns) {
    return resolver.Name(process_, resolver.User(process_, address_, now_ns));
  }

  telltale::testing::TempDir directory_;
  telltale::testing::Program program_{"/dev/null"};
  std::unique_ptr<telltale::testing::StallingFiles> files_;
  ProcessRef process_;
  uint64_t address_ = 0;
};

TEST_F(StalledFilesTest, AProgramsFunctionsAreSaidToBeWithoutAnswerUntilItsFilesAnswerAgain) {
  HostResolver resolver({});
  files_->Stall();
  EXPECT_EQ(NameAt(resolver, Now()).outcome, v1::NAME_OUTCOME_NO_ANSWER);
  // Others are named meanwhile.
  const ProcessRef self{.tgid = static_cast<uint32_t>(getpid())};
  const auto landmark = reinterpret_cast<uint64_t>(&getpid);
  EXPECT_EQ(resolver.Name(self, resolver.User(self, landmark, Now())).outcome,
            v1::NAME_OUTCOME_NAMED);

  files_->Go();
  uint64_t later = Now();
  EXPECT_TRUE(telltale::testing::Await([&] {
    later += 1'000'000'000;
    return !IsHashedId(resolver.User(process_, address_, later).file->build_id);
  })) << "it was read";
  EXPECT_NE(NameAt(resolver, later).outcome, v1::NAME_OUTCOME_NO_ANSWER);
}

TEST_F(StalledFilesTest, WhatIsKnownOfAFileStaysKnown) {
  HostResolver resolver({});
  const CodeLocation before = resolver.User(process_, address_, Now());
  const v1::NameOutcome named = resolver.Name(process_, before).outcome;
  EXPECT_NE(named, v1::NAME_OUTCOME_NO_ANSWER);
  files_->Stall();
  usleep(200'000);  // longer than an answer is believed
  const CodeLocation after = resolver.User(process_, address_, Now());
  EXPECT_EQ(after.file->build_id, before.file->build_id);
  EXPECT_EQ(resolver.Name(process_, after).outcome, named);
}

// A task that changes its maps, and waits meanwhile, has who reads them wait. Played: a process
// whose maps lie on such a file system.
TEST_F(StalledFilesTest, MapsThatKeepTheirReaderWaitingAreNotRead) {
  const telltale::testing::TempDir host;
  const std::filesystem::path root = host.path();
  std::filesystem::create_directories(root / "proc/42/task/42");
  std::ofstream(root / "proc/42/task/42/stat")
      << "42 (a) D 1 42 42 0 -1 0 0 0 0 0 7 8 0 0 20 0 1 0 12345 1000 250 0 0\n";
  std::filesystem::create_symlink("/proc/self/exe", root / "proc/42/exe");
  std::filesystem::create_symlink(files_->path(), root / "proc/42/maps");
  files_->Stall();
  ProcessMaps maps({.root = root});
  auto found = std::async(std::launch::async, [&maps] {
    return maps.Find({.tgid = 42}, 0x1000, Now()).has_value() ||
           maps.Find({.tgid = 42}, 0x2000, Now()).has_value();
  });
  const bool in_time = found.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
  files_->Go();  // whoever waits in the kernel could not even be killed
  EXPECT_TRUE(in_time) << "it was waited for";
  EXPECT_FALSE(found.get());
}

TEST_F(StalledFilesTest, AStackOfSuchAProgramEndsWhereItsFileBegins) {
  const auto maps = std::make_shared<ProcessMaps>(ProcessMaps::Options{});
  HostUnwinder unwinder({}, maps);
  files_->Stall();
  UserCopy copy;
  copy.registers[kRip] = address_;
  copy.stack_address = copy.registers[kRsp] = 0x7fff00000000;
  copy.registers[kRbp] = 8;  // leads nowhere
  const std::string stack(512, '\0');
  copy.stack = stack;
  RawSample sample;
  sample.tgid = process_.tgid;
  sample.mono_ns = Now();
  unwinder.Unwind(copy, sample);
  EXPECT_EQ(sample.stack.user.size(), 1u);
  EXPECT_NE(sample.stack.user_end, UserEnd::kComplete);
}

}  // namespace
}  // namespace telltale::agent
