// The agent's first process: what it does when another one hangs.

#include "agent/supervise/supervisor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>
#include <utility>

namespace telltale::agent {
namespace {

void PauseForEver() {
  while (true) pause();
}

int UntilStopped() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  int signal = 0;
  sigwait(&stop, &signal);
  return 0;
}

TEST(SupervisorTest, ASensorProcessThatHangsIsEndedAndStartedAgain) {
  void* const shared = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& started = *new (shared) std::atomic<int>(0);
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    SupervisorOptions options;
    options.hangs_after_ns = 300'000'000;
    options.reload = [] { return true; };
    options.run_sensor = [&started](OwnedFd fd) {
      Link link(std::move(fd));
      if (++started > 1) return UntilStopped();
      link.Send(LinkMessage(LinkKind::kWatching, {}));
      (void)link.Flush();
      PauseForEver();
      return 1;
    };
    options.run_uplink = [](OwnedFd) {
      PauseForEver();
      return 1;
    };
    _exit(RunSupervisor(options));
  }
  for (int waited = 0; waited < 1'000 && started < 2; ++waited) poll(nullptr, 0, 10);
  EXPECT_EQ(started, 2);
  kill(supervisor, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(supervisor, &status, 0), supervisor);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  munmap(shared, sizeof(std::atomic<int>));
}

}  // namespace
}  // namespace telltale::agent
