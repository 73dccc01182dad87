// Perf maps of processes: whose is believed, when it is read again, and a process of ours that
// makes code and lists it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "agent/symbols/host_resolver.h"
#include "agent/symbols/perf_maps.h"
#include "tests/support/fifo_writer.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kStep = 100'000'000;  // maps are looked at again after it

void Write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Process 42, which is 7 in its own pid namespace and runs as the user of this test.
class PerfMapsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(proc() / "task/42/stat",
          "42 (a) S 1 42 42 0 -1 0 0 0 0 0 7 8 0 0 20 0 1 0 12345 1000 250 0\n");
    SetStatus(geteuid());
    fs::create_directories(root() / "tmp");
    fs::create_symlink(root(), proc() / "root");
    ProcessMaps::Options options;
    options.root = dir_.path();
    options.boot_minus_mono_ns = [] { return int64_t{0}; };
    processes_ = std::make_shared<ProcessMaps>(options);
  }
  void SetStatus(uint32_t uid) {
    Write(proc() / "status",
          "Name:\ta\nUid:\t9\t" + std::to_string(uid) + "\t9\t9\nNSpid:\t42\t7\n");
  }
  fs::path proc() const { return fs::path(dir_.path()) / "proc/42"; }
  fs::path root() const { return fs::path(dir_.path()) / "container"; }
  fs::path file() const { return root() / "tmp/perf-7.map"; }

  testing::TempDir dir_;
  std::shared_ptr<ProcessMaps> processes_;
  const ProcessRef process_{42, 123'450'000'000, {}, 0, 0};
};

TEST_F(PerfMapsTest, ReadsTheMapOfTheProcessesOwnRootAndPid) {
  Write(file(), "1000 100 made\n");
  PerfMaps maps({}, processes_);
  const PerfMaps::Answer answer = maps.Find(process_, 0x1010, 1);
  EXPECT_EQ(answer.outcome, v1::NAME_OUTCOME_GENERATED);
  EXPECT_EQ(answer.name, "made");
  EXPECT_EQ(maps.Find(process_, 0x9000, 1).outcome, v1::NAME_OUTCOME_NOT_IN_PERF_MAP);
  EXPECT_EQ(maps.Why(process_), v1::NAME_OUTCOME_NOT_IN_PERF_MAP);
}

TEST_F(PerfMapsTest, AnUnknownAddressMakesItReadWhatWasAddedSince) {
  Write(file(), "1000 100 first\n2000 1");
  PerfMaps maps({}, processes_);
  EXPECT_EQ(maps.Find(process_, 0x2000, 1).name, "");
  std::ofstream(file(), std::ios::app) << "00 second\n";
  EXPECT_EQ(maps.Find(process_, 0x2000, 2).name, "") << "too soon";
  EXPECT_EQ(maps.Find(process_, 0x2000, 1 + kStep).name, "second");
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + kStep).name, "first");
}

// Code without a name is common where nobody lists it; looking for the list ten times a second was
// most of the files that an agent opened in a trace of an idle host.
TEST_F(PerfMapsTest, IsLookedForLessOftenTheLongerThereIsNone) {
  PerfMaps maps({}, processes_);
  EXPECT_EQ(maps.Find(process_, 0x1000, 1).outcome, v1::NAME_OUTCOME_NO_PERF_MAP);
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + kStep).outcome, v1::NAME_OUTCOME_NO_PERF_MAP);
  Write(file(), "1000 100 late\n");
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + 2 * kStep).name, "") << "waits twice as long";
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + 3 * kStep).name, "late");
  std::ofstream(file(), std::ios::app) << "2000 100 next\n";
  EXPECT_EQ(maps.Find(process_, 0x2000, 1 + 4 * kStep).name, "next") << "it grows again";
}

TEST_F(PerfMapsTest, CodeThatWasReplacedIsCalledAnewAfterAWhile) {
  Write(file(), "1000 100 first\n");
  PerfMaps maps({.known_ns = 3 * kStep}, processes_);
  EXPECT_EQ(maps.Find(process_, 0x1000, 1).name, "first");
  std::ofstream(file(), std::ios::app) << "1000 100 second\n";
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + kStep).name, "first");
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + 3 * kStep).name, "second");
}

TEST_F(PerfMapsTest, AMapThatBeginsAnewIsReadAnew) {
  Write(file(), "1000 100 first\n2000 100 more\n");
  PerfMaps maps({}, processes_);
  EXPECT_EQ(maps.Find(process_, 0x2000, 1).name, "more");
  Write(file(), "3000 100 third\n");
  EXPECT_EQ(maps.Find(process_, 0x3000, 1 + kStep).name, "third");
  EXPECT_EQ(maps.Find(process_, 0x2000, 2 + kStep).name, "");
}

TEST_F(PerfMapsTest, AMapThatBeginsAnewAndIsLongerIsReadAnew) {
  Write(file(), "1000 100 first\n");
  PerfMaps maps({}, processes_);
  EXPECT_EQ(maps.Find(process_, 0x1000, 1).name, "first");
  Write(file(), "3000 100 third\n1000 100 other\n");
  constexpr uint64_t kBelieved = 5'000'000'000;
  EXPECT_EQ(maps.Find(process_, 0x3000, 1 + kBelieved).name, "third");
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + kBelieved).name, "other");
}

TEST_F(PerfMapsTest, AMapThatBeginsAnewForgetsMethodsThatAreGone) {
  const std::string same_end = "4000 100 " + std::string(20, 'e') + "\n";
  Write(file(), "1000 100 gone\n" + same_end);
  PerfMaps maps({}, processes_);
  EXPECT_EQ(maps.Find(process_, 0x1000, 1).name, "gone");
  Write(file(), "2000 100 here\n" + same_end + "3000 100 more\n");
  EXPECT_EQ(maps.Find(process_, 0x3000, 1 + kStep).name, "more");
  EXPECT_EQ(maps.Find(process_, 0x2000, 1 + kStep).name, "here");
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + kStep).name, "");
}

TEST_F(PerfMapsTest, ALongMapIsReadInParts) {
  std::string text;
  for (int i = 1; i <= 100; ++i) text += std::to_string(i) + "000 100 f" + std::to_string(i) + "\n";
  Write(file(), text);
  PerfMaps maps({.part_bytes = text.size() / 3}, processes_);
  EXPECT_EQ(maps.Find(process_, 0x100000, 1).name, "");
  EXPECT_EQ(maps.Find(process_, 0x1000, 1).name, "f1");
  EXPECT_EQ(maps.Find(process_, 0x100000, 1 + kStep).name, "");
  EXPECT_EQ(maps.Find(process_, 0x100000, 1 + 2 * kStep).name, "");
  EXPECT_EQ(maps.Find(process_, 0x100000, 1 + 3 * kStep).name, "f100");
}

TEST_F(PerfMapsTest, WhatIsBeyondALimitIsSaidSo) {
  Write(file(), "1000 100 first\n2000 100 second\n3000 100 third\n");
  PerfMaps short_file({.file_bytes = 20}, processes_);
  EXPECT_EQ(short_file.Find(process_, 0x3000, 1).outcome, v1::NAME_OUTCOME_LIMIT);
  EXPECT_EQ(short_file.Find(process_, 0x1000, 1).name, "first");
  PerfMaps few_lines({.map = {.lines = 2}}, processes_);
  EXPECT_EQ(few_lines.Find(process_, 0x3000, 1).outcome, v1::NAME_OUTCOME_LIMIT);
  EXPECT_EQ(few_lines.Find(process_, 0x2000, 1).name, "second");
}

TEST_F(PerfMapsTest, AProcessWithoutAMapSaysSo) {
  PerfMaps maps({}, processes_);
  EXPECT_EQ(maps.Find(process_, 0x1000, 1).outcome, v1::NAME_OUTCOME_NO_PERF_MAP);
  Write(file(), "1000 100 late\n");
  EXPECT_EQ(maps.Find(process_, 0x1000, 1 + kStep).name, "late");
}

TEST_F(PerfMapsTest, AnotherUsersMapIsNotBelievedButRootsIs) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: giving files away needs root";
  Write(file(), "1000 100 lie\n");
  SetStatus(1'001);
  ASSERT_EQ(chown(file().c_str(), 1'002, 0), 0);
  EXPECT_EQ(PerfMaps({}, processes_).Find(process_, 0x1000, 1).outcome,
            v1::NAME_OUTCOME_PERF_MAP_REFUSED);
  ASSERT_EQ(chown(file().c_str(), 1'001, 0), 0);
  EXPECT_EQ(PerfMaps({}, processes_).Find(process_, 0x1000, 1).name, "lie");
  ASSERT_EQ(chown(file().c_str(), 0, 0), 0);
  EXPECT_EQ(PerfMaps({}, processes_).Find(process_, 0x1000, 1).name, "lie");
}

TEST_F(PerfMapsTest, ALinkAFifoOrADirectoryIsNoMap) {
  Write(root() / "tmp/real", "1000 100 linked\n");
  fs::create_symlink("real", file());
  EXPECT_EQ(PerfMaps({}, processes_).Find(process_, 0x1000, 1).outcome,
            v1::NAME_OUTCOME_PERF_MAP_REFUSED);
  fs::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  {
    const testing::FifoWriter writer(file());
    EXPECT_EQ(PerfMaps({}, processes_).Find(process_, 0x1000, 1).outcome,
              v1::NAME_OUTCOME_PERF_MAP_REFUSED);
    EXPECT_TRUE(writer.Waits()) << "whoever waits for a reader was sent on";
  }
  fs::remove(file());
  fs::create_directories(file());
  EXPECT_EQ(PerfMaps({}, processes_).Find(process_, 0x1000, 1).outcome,
            v1::NAME_OUTCOME_PERF_MAP_REFUSED);
}

TEST_F(PerfMapsTest, LinksOnTheWayDoNotLeadOutOfTheProcessesRoot) {
  const fs::path outside = fs::path(dir_.path()) / "outside";
  Write(outside / "perf-7.map", "1000 100 outside\n");
  fs::remove(root() / "tmp");
  fs::create_symlink("../outside", root() / "tmp");
  EXPECT_EQ(PerfMaps({}, processes_).Find(process_, 0x1000, 1).outcome,
            v1::NAME_OUTCOME_NO_PERF_MAP);
  // The same link inside the root is one of the process's own.
  Write(root() / "outside/perf-7.map", "1000 100 inside\n");
  EXPECT_EQ(PerfMaps({}, processes_).Find(process_, 0x1000, 1).name, "inside");
}

TEST_F(PerfMapsTest, AReusedPidIsNotTheProcessMeant) {
  Write(file(), "1000 100 other\n");
  ProcessRef earlier = process_;
  earlier.start_ns -= 1'000'000'000;
  EXPECT_EQ(PerfMaps({}, processes_).Find(earlier, 0x1000, 1).outcome, v1::NAME_OUTCOME_GONE);
}

TEST_F(PerfMapsTest, AllMapsTogetherStayWithinTheirBytes) {
  PerfMaps maps({.processes = 2, .bytes = 1 << 20}, processes_);
  Write(file(), "1000 100 here\n");
  EXPECT_EQ(maps.Find(process_, 0x1000, 1).name, "here");
  for (uint32_t pid = 1'000; pid < 1'003; ++pid) maps.Find({.tgid = pid}, 0x1000, 1);
  EXPECT_EQ(maps.Why(process_), v1::NAME_OUTCOME_NO_PERF_MAP) << "forgotten";
  EXPECT_EQ(maps.Find(process_, 0x1000, 2).name, "here");
}

// A process that maps memory, calls it code, and lists what is in it.
class GeneratedCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    child_ = fork();
    if (child_ == 0) {
      void* code = mmap(nullptr, 8'192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      std::ofstream(MapOf(getpid()))
          << std::hex << reinterpret_cast<uint64_t>(code) << " 100 _RNvC4demo4made\n"
          << reinterpret_cast<uint64_t>(code) + 0x100 << " 100 Lorg/Demo;::run\n";
      const ssize_t wrote = write(ends[1], &code, sizeof code);
      while (wrote > 0) pause();
      _exit(1);
    }
    ASSERT_EQ(read(ends[0], &code_, sizeof code_), static_cast<ssize_t>(sizeof code_));
    close(ends[0]);
    close(ends[1]);
    process_.tgid = static_cast<uint32_t>(child_);
  }
  void TearDown() override {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    unlink(MapOf(child_).c_str());
  }
  static std::string MapOf(pid_t pid) { return "/tmp/perf-" + std::to_string(pid) + ".map"; }

  pid_t child_ = -1;
  uint64_t code_ = 0;
  ProcessRef process_;
};

TEST_F(GeneratedCodeTest, IsNamedByItsMapAndIsOneFileWhereverItLies) {
  HostResolver resolver({});
  const CodeLocation made = resolver.User(process_, code_ + 0x10, 1);
  ASSERT_NE(made.file, nullptr);
  EXPECT_EQ(made.file->kind, v1::MAPPING_KIND_ANONYMOUS);
  EXPECT_FALSE(made.file->build_id.empty()) << "names travel by build id";
  const FunctionName name = resolver.Name(process_, made);
  EXPECT_EQ(name.text, "demo::made");
  EXPECT_EQ(name.outcome, v1::NAME_OUTCOME_GENERATED);
  const CodeLocation run = resolver.User(process_, code_ + 0x120, 1);
  EXPECT_EQ(resolver.Name(process_, run).text, "Lorg/Demo;::run");
  EXPECT_EQ(run.file, made.file);
  EXPECT_NE(run.offset, made.offset);
  EXPECT_EQ(resolver.User(process_, code_ + 0xff, 1).offset, made.offset) << "one function";
  EXPECT_LT(made.offset, uint64_t{1} << 53) << "whole in a double";
}

TEST_F(GeneratedCodeTest, ThatTheMapDoesNotListSaysSo) {
  HostResolver resolver({});
  const CodeLocation unlisted = resolver.User(process_, code_ + 0x1000, 1);
  ASSERT_NE(unlisted.file, nullptr);
  EXPECT_TRUE(unlisted.file->build_id.empty());
  EXPECT_EQ(unlisted.file->path, "[generated code]");
  EXPECT_EQ(resolver.Name(process_, unlisted).outcome, v1::NAME_OUTCOME_NOT_IN_PERF_MAP);
}

}  // namespace
}  // namespace telltale::agent
