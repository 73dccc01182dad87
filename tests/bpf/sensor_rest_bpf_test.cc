// While the host is quiet the sensor may be left alone for long, and it says at once when that has
// to end.

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "sensor_fixture.h"

namespace telltale::agent {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint64_t kShortNs = 100'000'000;
constexpr milliseconds kLong{30'000};

bool Readable(int fd, milliseconds within) {
  pollfd wait = {fd, POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(within.count())) == 1;
}

class RestTest : public SensorTest {
 protected:
  // Drains as the agent does until it may rest for `least_ns`; -1 for a descriptor: it never may.
  // Nobody drains after it: only the kernel's programs can end that rest.
  SensorRest AwaitRest(uint64_t least_ns) {
    const auto end = Clock::now() + kLong;
    while (Clock::now() < end) {
      EXPECT_TRUE(sensor_->Drain(kept_).ok());
      const SensorRest rest = sensor_->Rest();
      if (rest.ns >= least_ns) return rest;
      Readable(rest.fd, milliseconds(rest.ns / 1'000'000));
    }
    return {};
  }
};

TEST_F(RestTest, OfAQuietHostTheRestsGetLongAndAnExecEndsOneAtOnce) {
  Child child([] {
    if (fork() == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(1);
    }
    int status = 0;
    wait(&status);
  });
  const SensorRest rest = AwaitRest(8 * kShortNs);
  if (rest.fd < 0) GTEST_SKIP() << "SKIPPED: this host was not quiet for 3 s";
  child.Begin();
  EXPECT_TRUE(Readable(rest.fd, kLong));
  EXPECT_TRUE(sensor_->Drain(kept_).ok());
  EXPECT_EQ(sensor_->Rest().ns, kShortNs);
  Await(child);
}

TEST_F(RestTest, ACpuThatIsBusyForAWhileEndsARest) {
  Child child([] {
    const auto end = Clock::now() + milliseconds(3'000);
    while (Clock::now() < end) {
    }
  });
  const SensorRest rest = AwaitRest(8 * kShortNs);
  if (rest.fd < 0) GTEST_SKIP() << "SKIPPED: this host was not quiet for 3 s";
  child.Begin();
  EXPECT_TRUE(Readable(rest.fd, kLong));
  EXPECT_TRUE(sensor_->Drain(kept_).ok());
  EXPECT_EQ(sensor_->Rest().ns, kShortNs);
}

}  // namespace
}  // namespace telltale::agent
