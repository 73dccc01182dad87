// A program with a hostile name burns a CPU of this host, watched by a real agent with its kernel
// sensor; somebody finds it in the browser, from the anomaly to the function. What is done there is
// in fault.mjs.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

// Of a past in which nodes did next to nothing: today, and at this time of yesterday.
constexpr uint64_t kEpochs = 45, kYesterday = 20;
constexpr uint64_t kOverlap = 40 * kSecond;
constexpr uint64_t kMinute = 60 * kSecond, kDay = 86'400 * kSecond;
constexpr size_t kCommBytes = 15;  // that the kernel keeps of a program's name
constexpr int kStartSeconds = 120, kWalkSeconds = 300;
constexpr char kPlaywright[] = "collector/web/ui/node_modules/playwright-core";
constexpr char kHostile[] = "<img src=x onerror=document.title='pwned'>";

class FaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v node >/dev/null && command -v chromium >/dev/null") != 0) {
      GTEST_SKIP() << "SKIPPED: no browser here (Debian: chromium nodejs npm)";
    }
    if (!std::filesystem::exists(kPlaywright)) {
      GTEST_SKIP() << "SKIPPED: " << kPlaywright
                   << " is not there; run: (cd collector/web/ui && npm ci)";
    }
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: the kernel sensor needs root";
    ASSERT_TRUE(collector_.Start()) << collector_.log();
    TellPast("web-1", node_);
    TellPast("web-2", pki_.Issue("web-2", "URI:telltale://node/web-2"));
    agent_.Start(collector_.address(), {"--sensor-kind", "bpf", "--sensor-budget", "off"});
    const bool watching = Await(
        [&] { return agent_.Ended() || agent_.log().find("sensor on host") != std::string::npos; },
        kStartSeconds);
    if (!watching || agent_.Ended()) {
      GTEST_SKIP() << "SKIPPED: this kernel cannot be watched: " << agent_.log();
    }
  }

  // Quiet nodes, so that what is usual need not be learned first.
  void TellPast(const std::string& name, const IssuedFiles& own) {
    RawAgent before(collector_.address(), pki_.ca(), own);
    const AgentIdentity who = {.node = name};
    ASSERT_TRUE(before.Write(Hello(who)) && before.Write(SchemaMessage()));
    // Reaches into the first epochs of the agent: filters wait a while for what may come late into
    // a gap.
    const uint64_t newest = static_cast<uint64_t>(time(nullptr)) * kSecond + kOverlap;
    for (uint64_t sequence = 1; sequence <= kYesterday + kEpochs; ++sequence) {
      const uint64_t end = sequence <= kYesterday
                               ? newest - kDay - (kYesterday / 2 - sequence) * kMinute
                               : newest - (kYesterday + kEpochs - sequence) * kMinute;
      const uint64_t cpu_ns = 600'000'000 + sequence % 5 * 10'000'000;
      ASSERT_TRUE(before.Write(Summary(who, sequence, BodyEnding(end, cpu_ns))));
      const auto verdict = before.ReadVerdict();
      ASSERT_TRUE(verdict.has_value() && verdict->kind() == v1::Verdict::STORED);
    }
    before.WritesDone();
    before.Finish();
  }

  std::string HttpsUrl() const {
    const std::string ports = ReadAll(scratch_.path() + "/data/ports");
    const size_t at = ports.find("https=");
    return at == std::string::npos
               ? ""
               : "https://127.0.0.1:" + ports.substr(at + 6, ports.find('\n', at) - at - 6);
  }

  const TempDir scratch_;
  Pki pki_{scratch_.path(), "ca"};
  const IssuedFiles node_ = pki_.Issue("web-1", "URI:telltale://node/web-1");
  const IssuedFiles viewer_ = pki_.Issue("eve", "URI:telltale://viewer/eve");
  CollectorProcess collector_{scratch_.path() + "/data", pki_,
                              pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")};
  AgentProcess agent_{scratch_.path(), "web-1", pki_.ca(), node_};
};

TEST_F(FaultTest, FromTheAnomalyToTheFunction) {
  // Pictures for people are of one with another name.
  const char* chosen = getenv("TELLTALE_CULPRIT");
  const std::string name = chosen == nullptr ? kHostile : chosen;
  const std::string culprit = scratch_.path() + "/" + name;
  std::filesystem::copy_file(TELLTALE_SPIN_PROGRAM, culprit);
  Program spin(scratch_.path() + "/spin.log");
  spin.Start(culprit, {});
  setenv("TELLTALE_CULPRIT", name.substr(0, kCommBytes).c_str(), 1);
  setenv("TELLTALE_URL", HttpsUrl().c_str(), 1);
  setenv("TELLTALE_TLS_CERT", viewer_.cert.c_str(), 1);
  setenv("TELLTALE_TLS_KEY", viewer_.key.c_str(), 1);
  Program browser(scratch_.path() + "/browser.log");
  browser.Start("/usr/bin/env", {"node", "tests/e2e/fault.mjs"});
  EXPECT_TRUE(Await([&] { return browser.Ended(); }, kWalkSeconds));
  EXPECT_EQ(browser.exit_code(), 0);
  EXPECT_NE(browser.log().find("\nfound\n"), std::string::npos) << browser.log() << "\nagent:\n"
                                                                << agent_.log() << "\ncollector:\n"
                                                                << collector_.log();
}

}  // namespace
}  // namespace telltale::testing
