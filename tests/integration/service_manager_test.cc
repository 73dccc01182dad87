// What agent and collector tell the service manager: a socket stands in for systemd's.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"

namespace telltale::testing {
namespace {

// Listens where NOTIFY_SOCKET points; a child started while it lives is told of a watchdog of 3 s.
class Manager {
 public:
  explicit Manager(const std::string& path) : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << path;
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    setenv("WATCHDOG_USEC", "3000000", 1);
  }
  ~Manager() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC"}) unsetenv(name);
    close(fd_);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // How many lines begin with this, of all that came so far.
  int Heard(const std::string& beginning) {
    char text[4096];
    for (ssize_t got; (got = recv(fd_, text, sizeof(text), MSG_DONTWAIT)) > 0;) {
      std::istringstream message(std::string(text, static_cast<size_t>(got)));
      for (std::string line; std::getline(message, line);) lines_.push_back(line);
    }
    int count = 0;
    for (const std::string& line : lines_) count += line.rfind(beginning, 0) == 0 ? 1 : 0;
    return count;
  }
  std::string all() const {
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  const int fd_;
  std::vector<std::string> lines_;
};

class ServiceManagerTest : public ::testing::Test {
 protected:
  ServiceManagerTest() : pki_(scratch_.path(), "ca"), manager_(scratch_.path() + "/notify") {}

  const TempDir scratch_;
  Pki pki_;
  Manager manager_;
};

TEST_F(ServiceManagerTest, TheCollectorIsReadyWhenItListensLivesAndStops) {
  CollectorProcess collector(scratch_.path() + "/data", pki_,
                             pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1"));
  ASSERT_TRUE(collector.Start()) << collector.log();
  ASSERT_TRUE(Await([&] { return manager_.Heard("READY=1") > 0; })) << collector.log();
  EXPECT_EQ(manager_.Heard("STATUS=agents at port "), 1) << manager_.all();
  EXPECT_TRUE(Await([&] { return manager_.Heard("WATCHDOG=1") >= 2; })) << manager_.all();
  EXPECT_EQ(manager_.Heard("STOPPING=1"), 0);
  EXPECT_EQ(collector.Stop(), 0);
  EXPECT_EQ(manager_.Heard("STOPPING=1"), 1) << manager_.all();
}

TEST_F(ServiceManagerTest, TheAgentBeatsOnlyWhileItsSensorProcessGoesOn) {
  AgentProcess agent(scratch_.path(), "db-1", pki_.ca(),
                     pki_.Issue("db-1", "URI:telltale://node/db-1"));
  agent.Start("127.0.0.1:9");  // nobody: the watch does not depend on the collector
  ASSERT_TRUE(Await([&] { return manager_.Heard("READY=1") > 0; })) << agent.log();
  EXPECT_EQ(manager_.Heard("STATUS=watching db-1"), 1) << manager_.all();
  ASSERT_TRUE(Await([&] { return manager_.Heard("WATCHDOG=1") >= 2; })) << manager_.all();
  const pid_t sensor = agent.ChildPid("telltale-sensor");
  ASSERT_GT(sensor, 0);
  ASSERT_EQ(kill(sensor, SIGSTOP), 0);
  int before = 0;
  EXPECT_TRUE(Await([&] {
    before = manager_.Heard("WATCHDOG=1");
    sleep(4);  // a beat is due each second
    return manager_.Heard("WATCHDOG=1") == before;
  })) << "a sensor process that hangs does not show";
  ASSERT_EQ(kill(sensor, SIGCONT), 0);
  EXPECT_TRUE(Await([&] { return manager_.Heard("WATCHDOG=1") > before; })) << manager_.all();
  // One that ended is started again, and both are told.
  ASSERT_EQ(kill(sensor, SIGKILL), 0);
  EXPECT_TRUE(Await([&] { return manager_.Heard("STATUS=not watching: ") == 1; }));
  EXPECT_TRUE(Await([&] { return manager_.Heard("STATUS=watching db-1") == 2; })) << manager_.all();
  EXPECT_EQ(agent.Stop(), 0);
  EXPECT_EQ(manager_.Heard("STOPPING=1"), 1) << manager_.all();
}

}  // namespace
}  // namespace telltale::testing
