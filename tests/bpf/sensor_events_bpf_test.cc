// Discrete events of the kernel: who was killed when memory ran out.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

TEST_F(SensorTest, NamesTheVictimWhenACgroupRunsOutOfMemory) {
  constexpr size_t kLimit = 16 << 20;
  const std::string version_1 = "/sys/fs/cgroup/memory/telltale_oom_test";
  const std::string version_2 = "/sys/fs/cgroup/telltale_oom_test";
  rmdir(version_1.c_str());  // of a test that was killed
  const bool old = mkdir(version_1.c_str(), 0755) == 0;
  const std::string group = old ? version_1 : version_2;
  if (!old && (mkdir(group.c_str(), 0755) != 0 || access((group + "/memory.max").c_str(), W_OK))) {
    rmdir(group.c_str());
    GTEST_SKIP() << "SKIPPED: no memory cgroup can be made at " << version_1 << " or " << group;
  }
  const std::string limit = group + (old ? "/memory.limit_in_bytes" : "/memory.max");
  // No swap to go to.
  const std::string swap = group + (old ? "/memory.swappiness" : "/memory.swap.max");
  Child child([&] {
    std::ofstream(limit) << kLimit;
    std::ofstream(swap) << 0;
    std::ofstream(group + "/cgroup.procs") << getpid();
    std::vector<char> memory(kLimit * 4);
    volatile char* bytes = memory.data();
    for (size_t at = 0; at < memory.size(); at += 4096) bytes[at] = 'x';
  });
  Cut();
  kept_.events.clear();
  child.Begin();
  const bool lived = TryAwait(child);
  const pid_t pid = child.pid();
  const int status = child.End();
  Cut();
  rmdir(group.c_str());
  ASSERT_FALSE(lived) << "the limit of " << limit << " was not kept";
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const auto of = [&](RawEventKind kind) {
    return std::ranges::find_if(kept_.events, [&](const RawEvent& event) {
      return event.kind == kind && event.tgid == static_cast<uint32_t>(pid);
    });
  };
  const auto oom = of(RawEventKind::kOom), exit = of(RawEventKind::kExit);
  ASSERT_NE(oom, kept_.events.end()) << "no OOM event of " << pid;
  ASSERT_NE(exit, kept_.events.end());
  EXPECT_EQ(oom->comm, exit->comm);
  EXPECT_EQ(oom->uid, geteuid());
  EXPECT_EQ(oom->exe, exit->exe);
  EXPECT_LE(oom->mono_ns, exit->mono_ns);
}

// The path of a script is none of the shell that runs it, whose name all its other scripts share.
TEST_F(SensorTest, TellsAScriptFromTheProgramThatRunsIt) {
  std::string script = "telltale_script_test.XXXXXX";
  const int fd = mkstemp(script.data());
  ASSERT_GE(fd, 0);
  constexpr std::string_view kText = "#!/bin/sh\nexec /bin/true\n";
  ASSERT_EQ(write(fd, kText.data(), kText.size()), static_cast<ssize_t>(kText.size()));
  ASSERT_EQ(fchmod(fd, 0700), 0);
  close(fd);
  Cut();
  kept_.events.clear();
  const pid_t pid = fork();
  if (pid == 0) {
    execl(script.c_str(), script.c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  Cut();
  unlink(script.c_str());
  ASSERT_EQ(status, 0);
  struct stat shell = {}, plain = {};
  ASSERT_EQ(stat("/bin/sh", &shell), 0);
  ASSERT_EQ(stat("/bin/true", &plain), 0);
  std::vector<RawEvent> execs;
  for (const RawEvent& event : kept_.events) {
    if (event.kind == RawEventKind::kExec && event.tgid == static_cast<uint32_t>(pid)) {
      execs.push_back(event);
    }
  }
  ASSERT_EQ(execs.size(), 2U);
  EXPECT_EQ(execs[0].path, script);
  EXPECT_EQ(execs[0].exe.inode, shell.st_ino);
  EXPECT_TRUE(execs[0].script);
  EXPECT_EQ(execs[1].path, "/bin/true");
  EXPECT_EQ(execs[1].exe.inode, plain.st_ino);
  EXPECT_FALSE(execs[1].script);
}

}  // namespace
}  // namespace telltale::agent
