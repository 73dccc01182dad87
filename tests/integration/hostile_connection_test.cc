// What may come to the gRPC port and never get as far as a call.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "collector/grpc_listener.h"
#include "tests/integration/hostile_rig.h"
#include "tests/support/held_connection.h"

namespace telltale::testing {
namespace {

// Frames of HTTP/2 (RFC 9113) and headers (RFC 7541), as no library of good manners would send
// them.
enum Frame : char { kHeaders = 1, kReset = 3, kSettings = 4, kContinuation = 9 };
constexpr char kEndOfHeaders = 4;
constexpr std::string_view kAsk = "/telltale.v1.Query/Select";

std::string FrameOf(Frame type, char flags, uint32_t stream, const std::string& payload) {
  const auto byte = [](uint32_t value, int shift) { return static_cast<char>(value >> shift); };
  const auto length = static_cast<uint32_t>(payload.size());
  return std::string{byte(length, 16), byte(length, 8),  byte(length, 0), type,           flags,
                     byte(stream, 24), byte(stream, 16), byte(stream, 8), byte(stream, 0)} +
         payload;
}

// A literal that goes into no table; both parts are shorter than 127 bytes.
std::string Header(std::string_view name, std::string_view value) {
  std::string header(1, '\0');
  for (const std::string_view text : {name, value}) {
    header += static_cast<char>(text.size());
    header += text;
  }
  return header;
}

std::string HeadersOf(std::string_view call) {
  return Header(":method", "POST") + Header(":scheme", "https") + Header(":path", call) +
         Header(":authority", "localhost") + Header("content-type", "application/grpc") +
         Header("te", "trailers");
}

uint64_t ResidentBytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  uint64_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<uint64_t>(getpagesize());
}

class HostileConnectionTest : public HostileTest {
 protected:
  void ExpectNodesAreServed() {
    const auto stream = Stream();
    const auto verdict = VerdictOn(*stream, NextSummary());
    ASSERT_TRUE(verdict.has_value());
    EXPECT_EQ(verdict->kind(), v1::Verdict::STORED) << verdict->reason();
  }

  // Somebody with this certificate says `next` again and again, until he is let no more.
  void ExpectEnded(const IssuedFiles& certificate, const std::function<std::string()>& next) {
    constexpr size_t kMost = 64 << 20;
    const uint64_t before = ResidentBytes(collector_.pid());
    HttpsClient flood(
        {.port = grpc_port(), .ca_file = pki_.ca(), .client = certificate, .http2 = true});
    ASSERT_TRUE(flood.ok());
    flood.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + FrameOf(kSettings, 0, 0, ""));
    size_t sent = 0;
    for (; sent < kMost && flood.ok();) {
      const std::string frames = next();
      flood.Send(frames);
      sent += frames.size();
    }
    EXPECT_FALSE(flood.ok()) << "took " << sent << " bytes";
    EXPECT_LT(ResidentBytes(collector_.pid()), before + kMost);
    ExpectNodesAreServed();
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
    // Beyond those that are begun with at once and those that wait their turn.
    const auto pace = collector::ConnectionPace::OfMachine();
    const size_t some_more = 500;
    const size_t many =
        static_cast<size_t>(pace.at_once) + pace.waiting + pace.crowding + some_more;
    ASSERT_LT(many, files.rlim_max / 2) << "raise the hard limit of open files";
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

TEST_F(HostileConnectionTest, FramesWithoutEnd) {
  Attack("gRPC: headers without end", [&] {
    std::string more;
    while (more.size() < 16'000) more += Header("x-more", "and more");
    bool begun = false;
    ExpectEnded(viewer_, [&] {
      if (begun) return FrameOf(kContinuation, 0, 1, more);
      begun = true;
      return FrameOf(kHeaders, 0, 1, HeadersOf(kAsk));
    });
  });
  Attack("gRPC: calls without end, each cancelled at once", [&] {
    const std::string cancel("\0\0\0\x08", 4);
    const auto calls = [&cancel](std::string_view path) {
      return [&cancel, path, stream = uint32_t{1}]() mutable {
        const uint32_t call = std::exchange(stream, stream + 2);
        return FrameOf(kHeaders, kEndOfHeaders, call, HeadersOf(path)) +
               FrameOf(kReset, 0, call, cancel);
      };
    };
    ExpectEnded(viewer_, calls(kAsk));
    ExpectEnded(pki_.Issue("flood", "URI:telltale://node/web-2"),
                calls("/telltale.v1.Ingest/Connect"));
  });
  Attack("gRPC: settings without end", [&] {
    std::string settings;
    while (settings.size() < 1'000) settings += FrameOf(kSettings, 0, 0, "");
    ExpectEnded(viewer_, [&] { return settings; });
  });
}

}  // namespace
}  // namespace telltale::testing
