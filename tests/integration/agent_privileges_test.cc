// What the three processes of a running agent may do, as the kernel says it: the table in
// deploy/docs/agent.md.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/supervise/privileges.h"
#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"

namespace telltale::testing {
namespace {

uint64_t Mask(std::initializer_list<int> capabilities) {
  uint64_t mask = 0;
  for (const int capability : capabilities) mask |= uint64_t{1} << capability;
  return mask;
}

// Lines of /proc/PID/status by their names.
std::map<std::string, std::string> StatusOf(pid_t pid) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(ReadAll("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(":\t");
    if (colon != std::string::npos) fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return fields;
}

// 0: there is none so named.
pid_t ThreadOf(pid_t pid, const std::string& name) {
  const std::string threads = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(threads)) {
    if (ReadAll(thread.path().string() + "/comm") == name + "\n") {
      return std::stoi(thread.path().filename());
    }
  }
  return 0;
}

uint64_t Hex(const std::string& text) { return std::stoull(text, nullptr, 16); }

class AgentPrivilegesTest : public ::testing::Test {
 protected:
  AgentPrivilegesTest()
      : pki_(scratch_.path(), "ca"),
        collector_(scratch_.path() + "/data", pki_,
                   pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
        agent_(scratch_.path(), "db-1", pki_.ca(), pki_.Issue("db-1", "URI:telltale://node/db-1")) {
  }

  const TempDir scratch_;
  Pki pki_;
  CollectorProcess collector_;
  AgentProcess agent_;
};

TEST_F(AgentPrivilegesTest, EachProcessHasWhatItsWorkNeedsAndNoMore) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: capabilities can be given up only by root";
  const passwd* nobody = getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  // The certificates are the uplink's to read.
  ASSERT_EQ(chmod(scratch_.path().c_str(), 0755), 0);
  for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
    ASSERT_EQ(chown(entry.path().c_str(), nobody->pw_uid, nobody->pw_gid), 0);
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  agent_.Start(collector_.address(), {"--sensor-kind", "bpf", "--run-as", "nobody"});
  const auto is_stored = [&] {
    const auto status = agent_.Status();
    return agent_.Ended() || (status.is_object() && status["uplink"]["stored"] > 0);
  };
  // On a busy host a start takes long: the verifier's seconds, and waits for all tasks to pass by.
  const bool stored = Await(is_stored, 200);
  if (agent_.Logged("nothing can be watched on this host") > 0) {
    GTEST_SKIP() << "SKIPPED: no kernel sensor here: " << agent_.log();
  }
  ASSERT_TRUE(stored && !agent_.Ended()) << agent_.log();

  const auto supervisor = StatusOf(agent_.pid());
  auto sensor = StatusOf(agent_.ChildPid("telltale-sensor"));
  auto uplink = StatusOf(agent_.ChildPid("telltale-uplink"));
  // The sensor reads other processes' maps and files; what loading programs took is given up.
  const uint64_t reading =
      Mask({CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_KILL});
  EXPECT_EQ(Hex(sensor["CapPrm"]) & ~reading, 0U) << sensor["CapPrm"];
  EXPECT_EQ(Hex(sensor["CapEff"]) & ~reading, 0U) << sensor["CapEff"];
  // One thread of it may put the others before ordinary tasks, and can do nothing else.
  const auto guard = StatusOf(ThreadOf(agent_.ChildPid("telltale-sensor"), "telltale-guard"));
  ASSERT_TRUE(guard.contains("CapEff")) << agent_.log();
  EXPECT_EQ(Hex(guard.at("CapPrm")) & ~Mask({CAP_SYS_NICE}), 0U) << guard.at("CapPrm");
  // The uplink speaks to the network: nothing, another user, and a filter of system calls.
  EXPECT_EQ(Hex(uplink["CapPrm"]), 0U);
  EXPECT_EQ(Hex(uplink["CapEff"]), 0U);
  EXPECT_EQ(Hex(uplink["CapAmb"]), 0U);
  EXPECT_EQ(uplink["Seccomp"], "2");
  const std::string id = std::to_string(nobody->pw_uid);
  EXPECT_EQ(uplink["Uid"], id + "\t" + id + "\t" + id + "\t" + id);
  // The supervisor hands out what the two begin with.
  const uint64_t handing =
      reading | Mask({CAP_SYS_RESOURCE, CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_SETUID, CAP_SETGID});
  EXPECT_EQ(Hex(supervisor.at("CapEff")) & ~handing, 0U);
  for (const auto& process : {supervisor, sensor, uplink}) {
    EXPECT_EQ(process.at("NoNewPrivs"), "1") << process.at("Name");
    EXPECT_EQ(Hex(process.at("CapInh")), 0U) << process.at("Name");
  }
  EXPECT_EQ(agent_.Stop(), 0);
}

// What the kernel says of the group of a child that raised its priority, in a session of its own or
// in this one.
std::string GroupOfARaised(bool own_session, const std::string& file) {
  const pid_t child = fork();
  if (child == 0) {
    if (own_session && setsid() < 0) _exit(1);
    if (!agent::RaisePriority().ok()) _exit(2);
    std::ofstream(file) << ReadAll("/proc/self/autogroup");
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ReadAll(file) : "it failed";
}

TEST(PriorityTest, ASessionOfItsOwnGoesBeforeOthersAndAnothersIsLeftAsItIs) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root may go before others";
  const std::string before = ReadAll("/proc/self/autogroup");
  if (before.empty()) GTEST_SKIP() << "SKIPPED: this kernel groups nothing by session";
  const TempDir scratch;
  EXPECT_NE(GroupOfARaised(true, scratch.path() + "/own").find("nice -10"), std::string::npos);
  EXPECT_EQ(GroupOfARaised(false, scratch.path() + "/other"), before);
  EXPECT_EQ(ReadAll("/proc/self/autogroup"), before);
}

// Exit code of a child that runs as an uplink: 0, or which of the calls was not refused.
int CallsOfAnUplink() {
  const pid_t child = fork();
  if (child == 0) {
    if (!agent::BecomeUplink(std::nullopt).ok()) _exit(100);
    std::vector<long> calls = {SYS_execve, SYS_ptrace, SYS_bpf, SYS_keyctl, SYS_unshare};
#ifdef __x86_64__
    calls.push_back(__X32_SYSCALL_BIT | SYS_execve);
    calls.push_back(__X32_SYSCALL_BIT | SYS_getpid);
#endif
    for (size_t i = 0; i < calls.size(); ++i) {
      errno = 0;
      if (syscall(calls[i], 0, 0, 0, 0, 0) != -1 || errno != EPERM) _exit(static_cast<int>(i) + 1);
    }
    _exit(getpid() > 0 ? 0 : 101);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(UplinkFilterTest, WhatOnlyAnIntruderWouldCallIsRefusedByAnyOfItsNumbers) {
  EXPECT_EQ(CallsOfAnUplink(), 0);
}

// What is otherwise than it ought to be, 0: nothing. For a process of its own.
int ThreadsAndNamespaces() {
  if (!agent::BecomeUplink(std::nullopt).ok()) return 1;
  // The kernel itself would refuse these otherwise, whoever calls: EPERM is the filter's word.
  constexpr int kInvalid = CLONE_SIGHAND;  // without CLONE_VM
  for (const int space : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                          CLONE_NEWPID, CLONE_NEWNET}) {
    if (syscall(SYS_clone, space | kInvalid, 0, 0, 0, 0) != -1 || errno != EPERM) return 2;
  }
  if (syscall(SYS_clone, kInvalid, 0, 0, 0, 0) != -1 || errno != EINVAL) return 3;
  if (syscall(SYS_clone3, nullptr, 0) != -1 || errno != ENOSYS) return 4;
  if (syscall(SYS_open_tree, AT_FDCWD, "/", 0) != -1 || errno != EPERM) return 5;
  if (syscall(SYS_fsconfig, -1, 0, nullptr, nullptr, 0) != -1 || errno != EPERM) return 6;
  if (syscall(SYS_mount_setattr, -1, "", -1, nullptr, 0) != -1 || errno != EPERM) return 7;
  if (syscall(SYS_io_uring_setup, 1, nullptr) != -1 || errno != EPERM) return 8;
  if (syscall(SYS_pidfd_getfd, -1, 0, -1) != -1 || errno != EPERM) return 9;
  std::thread([] {}).join();
  return 0;
}

TEST(UplinkFilterTest, ItMakesThreadsAndNoNamespaces) {
  const pid_t child = fork();
  if (child == 0) _exit(ThreadsAndNamespaces());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace telltale::testing
