// What may come to the gRPC port and never get as far as a call.

#include <sys/resource.h>

#include <algorithm>

#include "tests/integration/hostile_rig.h"
#include "tests/support/held_connection.h"

namespace telltale::testing {
namespace {

class HostileConnectionTest : public HostileTest {
 protected:
  void ExpectNodesAreServed() {
    const auto stream = Stream();
    const auto verdict = VerdictOn(*stream, NextSummary());
    ASSERT_TRUE(verdict.has_value());
    EXPECT_EQ(verdict->kind(), v1::Verdict::STORED) << verdict->reason();
  }
};

TEST_F(HostileConnectionTest, HandshakesWithoutEnd) {
  Attack("gRPC: a handshake that never comes", [&] {
    HeldConnection silent(grpc_port()), half(grpc_port());
    half.Send(kBeginOfClientHello);
    ExpectNodesAreServed();
    EXPECT_TRUE(silent.ClosedByPeer());
    EXPECT_TRUE(half.ClosedByPeer());
  });
  Attack("gRPC: connections that say nothing", [&] {
    rlimit files = {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    const auto open_stream = Stream();
    std::vector<HeldConnection> silent;
    const size_t many = std::min<size_t>(4000, files.rlim_max / 2);
    while (silent.size() < many) {
      silent.emplace_back(grpc_port(), "127.0.0.2");
      ASSERT_TRUE(silent.back().connected()) << silent.size();
      silent.back().Send(kBeginOfClientHello);
    }
    EXPECT_EQ(VerdictOn(*open_stream, NextSummary())->kind(), v1::Verdict::STORED);
    ExpectNodesAreServed();
    for (HeldConnection& one : silent) ASSERT_TRUE(one.ClosedByPeer());
  });
}

}  // namespace
}  // namespace telltale::testing
