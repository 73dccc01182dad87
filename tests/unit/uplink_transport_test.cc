// Streams that the uplink gives up before they have ended: each time the connection is let go of,
// and it must be on a thread that does not wait for itself.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "agent/uplink/grpc_transport.h"
#include "tests/support/web_pki.h"

namespace telltale::agent {
namespace {

TEST(UplinkTransportTest, GivesUpStreamsThatHaveNotEnded) {
  const testing::WebPki pki;
  const auto node = pki.Issue("web-1", {"telltale://node/web-1"});
  std::atomic<int> woken = 0;
  for (int i = 0; i < 200; ++i) {
    GrpcTransport transport({.collector = "127.0.0.1:1",  // nobody answers there
                             .name_check = "",
                             .tls = {.ca = pki.ca_file(), .cert = node.cert, .key = node.key},
                             .node = "web-1"},
                            [&woken] { ++woken; });
    transport.Open();
    std::this_thread::sleep_for(std::chrono::microseconds(10 * i));
    transport.Abort();
    if (i % 2 == 0) transport.Open();
  }
  EXPECT_GT(woken, 0);
}

}  // namespace
}  // namespace telltale::agent
