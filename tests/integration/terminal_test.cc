// From a node's stream to the words on the terminal. An unusual epoch becomes one anomaly that
// `telltale anomalies` shows, and that a restart of the collector neither loses nor finds again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/support/collector_process.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kEpochs = 40;
constexpr uint64_t kSpike = 38;
constexpr uint64_t kUsualNs = 3 * kSecond;  // of CPU in a minute
constexpr uint64_t kUnusualNs = 45 * kSecond;

class TerminalTest : public ::testing::Test {
 protected:
  void Send(uint64_t spike = kSpike) {
    RawAgent agent(collector_.address(), pki_.ca(), node_);
    ASSERT_TRUE(agent.Write(Hello({})) && agent.Write(SchemaMessage()));
    for (uint64_t sequence = 1; sequence <= kEpochs; ++sequence) {
      const uint64_t end = LastMinute() - (kEpochs - sequence) * 60 * kSecond;
      const uint64_t cpu_ns = sequence == spike ? kUnusualNs : kUsualNs + sequence * 1'000'000;
      ASSERT_TRUE(agent.Write(Summary({}, sequence, BodyEnding(end, cpu_ns))));
      const auto verdict = agent.ReadVerdict();
      ASSERT_TRUE(verdict.has_value() && verdict->kind() == v1::Verdict::STORED);
    }
  }

  ProgramRun Telltale(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--collector", collector_.address(), "--ca", pki_.ca(),
                                       "--cert", viewer_.cert, "--key", viewer_.key});
    return RunTelltale(arguments);
  }

  // Asks until the answer is not empty; filters run behind ingest.
  std::string AwaitAnomalies() {
    ProgramRun run;
    for (int i = 0; i < 100; ++i) {
      run = Telltale({"anomalies", "--from", "-2h"});
      if (run.exit_code != 0 || run.output.find("no anomaly") == std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return run.output;
  }

  const TempDir scratch_;
  Pki pki_{scratch_.path(), "ca"};
  const IssuedFiles node_ = pki_.Issue("web-1", "URI:telltale://node/web-1");
  const IssuedFiles viewer_ = pki_.Issue("eve", "URI:telltale://viewer/eve");
  CollectorProcess collector_{scratch_.path() + "/data", pki_,
                              pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")};
};

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(TerminalTest, AnUnusualEpochIsShownOnceAlsoAfterARestart) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  Send();
  const std::string before = AwaitAnomalies();
  EXPECT_THAT(before, HasSubstr("cpu/user"));
  EXPECT_THAT(before, HasSubstr("web-1"));
  EXPECT_EQ(Count(before, "usual is"), 1u) << before;

  EXPECT_EQ(collector_.Stop(), 0) << collector_.log();
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  EXPECT_EQ(Count(AwaitAnomalies(), "usual is"), 1u);
}

TEST_F(TerminalTest, NoAnomalyIsAnAnswerNotAnError) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  Send(/*spike=*/0);
  const ProgramRun run = Telltale({"anomalies", "--from", "-2h"});
  EXPECT_THAT(run.output, HasSubstr("no anomaly in this time"));
  EXPECT_EQ(run.exit_code, 0);
}

// Each is one line that names what would be right; none is answered as if it had not been typed.
TEST_F(TerminalTest, WhatMakesNoSenseIsRefusedByName) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  Send(/*spike=*/0);
  struct Case {
    std::vector<std::string> typed;
    const char* says;
    int exit_code;
  };
  const std::vector<Case> cases = {
      {{"anomalies", "--filter", "nope"}, "filter \"nope\" is unknown; there are: ewma", 5},
      {{"anomalies", "--follow", "--filter", "nope"}, "there are: ewma", 5},
      {{"anomalies", "--follow", "--node", "web-7"}, "node \"web-7\" is unknown", 5},
      {{"anomalies", "--follow", "--label", "role=none"}, "no node has the labels role=none", 5},
      {{"anomalies", "--follow", "--from", "-1h"}, "--from does nothing with --follow", 2},
      {{"anomalies", "--min-severity", "-3"}, "--min-severity: ", 2},
      {{"top", "--limit", "0"}, "--limit: Value 0 not in range 1 to 1000", 2},
      {{"series", "--points", "0"}, "--points: Value 0 not in range 1 to 2000", 2},
      {{"series", "--backlog", "--vital", "cpu"}, "cpu keeps no backlog; those that do: ", 2},
      {{"events", "--tier", "raw"}, "unknown flag --tier", 2},
      {{"samples", "--tier", "1h"}, "unknown flag --tier", 2},
      {{"coverage", "--tier", "raw"}, "unknown flag --tier", 2},
      {{"anomalies", "--tier", "raw"}, "unknown flag --tier", 2},
  };
  for (const Case& one : cases) {
    const ProgramRun run = Telltale(one.typed);
    EXPECT_THAT(run.output, HasSubstr(one.says));
    EXPECT_EQ(run.exit_code, one.exit_code) << run.output;
    EXPECT_EQ(Count(run.output, "\n"), 1u) << run.output;
  }
  const ProgramRun days = RunTelltale({"pki", "init", "--dir", scratch_.path(), "--days", "0"});
  EXPECT_THAT(days.output, HasSubstr("--days: Value 0 not in range 1 to 36500"));
  EXPECT_EQ(days.exit_code, 2);
}

TEST_F(TerminalTest, ASecondWithinAnEpochIsAnsweredWithTheWholeEpochAndSaysSo) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  Send(/*spike=*/0);
  const std::string at = "@" + std::to_string(LastMinute() / kSecond - 150);
  const ProgramRun run = Telltale({"series", "--vital", "cpu", "--at", at, "--for", "1s"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_TRUE(run.output.starts_with("asked for 1 s; all figures are of the whole epoch "))
      << run.output;
}

TEST_F(TerminalTest, TheUnusualMinuteBesideAUsualOne) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  Send();
  const std::string at = "@" + std::to_string(LastMinute() / kSecond - (kEpochs - kSpike + 1) * 60);
  const std::vector<std::string> question = {"--vital", "cpu/user", "--at",      at,
                                             "--by",    "node",     "--against", "-10m"};
  const auto ask = [&](const std::string& command, std::vector<std::string> more) {
    more.insert(more.begin(), command);
    return Telltale(std::move(more));
  };
  const ProgramRun table = ask("diff", question);
  EXPECT_EQ(table.exit_code, 0) << table.output;
  EXPECT_THAT(table.output, HasSubstr("cpu/user  45.0 s in all, against 3.03 s (x 14.9)"));
  EXPECT_THAT(table.output, HasSubstr("+42.0 s  x 14.9"));
  std::vector<std::string> as_csv = question;
  as_csv.insert(as_csv.end(), {"-o", "csv"});
  const ProgramRun csv = ask("diff", as_csv);
  EXPECT_EQ(csv.exit_code, 0) << csv.output;
  EXPECT_THAT(csv.output, HasSubstr("cpu,user,s,node,web-1,"));
  EXPECT_THAT(csv.output, HasSubstr("covers 60 s of 60 s"));  // on stderr
}

TEST_F(TerminalTest, AnAnswerThatHasNoSuchFormatNamesThoseItHas) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  Send(/*spike=*/0);
  const ProgramRun series = Telltale({"series", "--vital", "cpu", "-o", "folded"});
  EXPECT_THAT(series.output, HasSubstr("this answer comes as json, csv"));
  EXPECT_EQ(series.exit_code, 2);
  const ProgramRun nobody = Telltale({"top", "-o", "xml"});
  EXPECT_THAT(nobody.output, HasSubstr("-o \"xml\": must be table, json, csv, folded, svg, pprof"));
  EXPECT_EQ(nobody.exit_code, 2);
}

TEST_F(TerminalTest, AnExpiredCertificateOfOnesOwnIsCalledThat) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  const IssuedFiles over = pki_.Issue("ada", "URI:telltale://viewer/ada", /*days=*/-1);
  const ProgramRun run = RunTelltale({"nodes", "--collector", collector_.address(), "--ca",
                                      pki_.ca(), "--cert", over.cert, "--key", over.key});
  EXPECT_THAT(run.output, HasSubstr("your certificate " + over.cert + " ended on"));
  EXPECT_EQ(run.exit_code, 4);
}

}  // namespace
}  // namespace telltale::testing
