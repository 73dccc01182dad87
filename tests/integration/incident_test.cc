// Somebody is told that something was odd, and sits at a terminal, or at a pipe: from the page of
// an investigation over notes to the live screen and the heat map, each as it is drawn.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collector/cli/terminal_text.h"
#include "tests/support/collector_process.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/pseudo_terminal.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr uint64_t kEpochs = 80, kSpike = 70;
constexpr uint64_t kUsualNs = 3 * kSecond, kUnusualNs = 45 * kSecond;  // of CPU in a minute

class IncidentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(collector_.Start()) << collector_.log();
    RawAgent agent(collector_.address(), pki_.ca(), node_);
    ASSERT_TRUE(agent.Write(Hello({})) && agent.Write(SchemaMessage()));
    newest_ = LastMinute();
    for (uint64_t sequence = 1; sequence <= kEpochs; ++sequence) {
      const uint64_t end = newest_ - (kEpochs - sequence) * 60 * kSecond;
      const uint64_t cpu_ns = sequence == kSpike ? kUnusualNs : kUsualNs + sequence % 5 * 1'000'000;
      ASSERT_TRUE(agent.Write(Summary({}, sequence, BodyEnding(end, cpu_ns))));
      const auto verdict = agent.ReadVerdict();
      ASSERT_TRUE(verdict.has_value() && verdict->kind() == v1::Verdict::STORED);
    }
  }

  std::vector<std::string> As(const IssuedFiles& who, std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--collector", collector_.address(), "--ca", pki_.ca(),
                                       "--cert", who.cert, "--key", who.key});
    return arguments;
  }
  ProgramRun Telltale(const std::vector<std::string>& arguments) const {
    return RunTelltale(As(viewer_, arguments));
  }
  // When the odd minute began.
  std::string Odd() const {
    return "@" + std::to_string(newest_ / kSecond - (kEpochs - kSpike + 1) * 60);
  }
  std::vector<std::string> Investigation() const {
    return {"investigate", "--node", "web-1", "--at", Odd(), "--around", "5m"};
  }

  const TempDir scratch_;
  Pki pki_{scratch_.path(), "ca"};
  const IssuedFiles node_ = pki_.Issue("web-1", "URI:telltale://node/web-1");
  const IssuedFiles viewer_ = pki_.Issue("eve", "URI:telltale://viewer/eve");
  const IssuedFiles operator_ = pki_.Issue("olga", "URI:telltale://operator/olga");
  CollectorProcess collector_{scratch_.path() + "/data", pki_,
                              pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")};
  uint64_t newest_ = 0;
};

// Lines up to the commands to type next, which are whole whatever the width is.
std::vector<std::string> PageOf(const std::string& output) {
  std::vector<std::string> lines;
  for (const std::string& line : LinesOf(Unpainted(output))) {
    if (line.starts_with("DIG ON")) break;
    lines.push_back(line);
  }
  return lines;
}

TEST_F(IncidentTest, ThePageOfAnInvestigation) {
  const ProgramRun run = Telltale(Investigation());
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("1. cpu/user  0.75 CPUs, usual is 0.050 CPUs, x 15"));
  EXPECT_THAT(run.output, HasSubstr("past epochs was as far"));
  EXPECT_THAT(run.output, HasSubstr("(times are "));
  EXPECT_THAT(run.output, HasSubstr("covers 10 min of 10 min on 1 node"));
  EXPECT_THAT(run.output,
              HasSubstr("telltale diff --by stack --node web-1 --vital cpu/user --against "));
  EXPECT_THAT(run.output, HasSubstr("/selection?node=web-1&vital=cpu&from="));
  EXPECT_THAT(run.output, Not(HasSubstr("\x1b")));  // a pipe

  // What it says to type next can be typed.
  const std::vector<std::string> lines = LinesOf(run.output);
  const auto next = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("   telltale diff ");
  });
  ASSERT_NE(next, lines.end());
  std::vector<std::string> words(1);
  for (const char c : next->substr(sizeof("   telltale ") - 1)) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  const ProgramRun typed = RunTelltale(words);
  EXPECT_EQ(typed.exit_code, 0) << typed.output;
  EXPECT_THAT(typed.output, HasSubstr("cpu/user  45.0 s in all, against 3.00 s (x 15)"));

  std::vector<std::string> as_json = Investigation();
  as_json.insert(as_json.end(), {"-o", "json"});
  const ProgramRun json = Telltale(as_json);
  EXPECT_THAT(json.output, HasSubstr("\"vital\": \"cpu\""));
  EXPECT_THAT(json.output, HasSubstr("\"incidents\": ["));
}

TEST_F(IncidentTest, ThePageFitsTheTerminalAndColoursObey) {
  for (const unsigned short columns : {80, 160}) {
    for (const bool no_colour : {false, true}) {
      PseudoTerminal terminal(columns, 24);
      terminal.Start(TelltaleProgram(), As(viewer_, Investigation()),
                     no_colour ? std::vector<std::pair<std::string, std::string>>{{"NO_COLOR", "1"}}
                               : std::vector<std::pair<std::string, std::string>>{});
      EXPECT_EQ(terminal.AwaitEnd(), 0) << terminal.output();
      EXPECT_EQ(terminal.output().find("\x1b[31m") == std::string::npos, no_colour);
      EXPECT_THAT(Unpainted(terminal.output()), HasSubstr("1. cpu/user  0.75 CPUs"));
      for (const std::string& line : PageOf(terminal.output())) {
        EXPECT_LE(cli::Width(line), columns) << line;
      }
    }
  }
}

TEST_F(IncidentTest, NotesAreAnOperatorsAndAreSeenBesideTheData) {
  const auto note = [&](const IssuedFiles& who, std::vector<std::string> more) {
    more.insert(more.begin(), "note");
    return RunTelltale(As(who, more));
  };
  const ProgramRun refused = note(viewer_, {"deploy 1.2"});
  EXPECT_EQ(refused.exit_code, 4) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("only an operator may do this"));
  const ProgramRun made = note(operator_, {"deploy 1.2 \x1b[2J", "--node", "web-1", "--at", Odd()});
  EXPECT_EQ(made.exit_code, 0) << made.output;
  EXPECT_THAT(made.output, HasSubstr("noted  "));
  EXPECT_THAT(made.output, HasSubstr("(time is "));
  EXPECT_EQ(note(operator_, {"x", "--node", "web-7"}).exit_code, 5);

  EXPECT_EQ(collector_.Stop(), 0) << collector_.log();
  ASSERT_TRUE(collector_.Start()) << collector_.log();

  const ProgramRun list = note(viewer_, {});
  EXPECT_EQ(list.exit_code, 0) << list.output;
  EXPECT_THAT(list.output, HasSubstr("deploy 1.2"));
  EXPECT_THAT(list.output, HasSubstr("olga"));
  EXPECT_THAT(list.output, Not(HasSubstr("\x1b")));
  const ProgramRun page = Telltale(Investigation());
  EXPECT_THAT(page.output, HasSubstr("deploy 1.2"));
  EXPECT_THAT(page.output, Not(HasSubstr("\x1b")));
  const ProgramRun events = Telltale({"events", "--from", "-2h"});
  EXPECT_THAT(events.output, HasSubstr("deploy 1.2"));

  const std::string id = list.output.substr(list.output.find("\n") + 1, 8);
  const ProgramRun removed = note(operator_, {"--remove", id});
  EXPECT_EQ(removed.exit_code, 0) << removed.output;
  EXPECT_EQ(note(operator_, {"--remove", id}).exit_code, 5);
  EXPECT_THAT(note(viewer_, {}).output, HasSubstr("no note in this time"));
  const ProgramRun audit = RunTelltale(As(operator_, {"audit"}));
  EXPECT_THAT(audit.output, HasSubstr("remove a note: " + id + " on web-1: deploy 1.2"));
  EXPECT_THAT(audit.output, ::testing::ContainsRegex("viewer/eve .*REFUSED note"));
}

TEST_F(IncidentTest, TheLiveScreenFillsTheTerminalAndLeavesItAsItWas) {
  PseudoTerminal terminal(80, 24);
  terminal.Start(TelltaleProgram(),
                 As(viewer_, {"live", "--node", "web-1", "--for", "2h", "--every", "1"}));
  const auto shows = [&](const std::string& text, size_t rows) {
    return terminal.Await([&] {
      const std::vector<std::string> frame = terminal.Frame();
      if (frame.size() != rows) return false;
      return std::any_of(frame.begin(), frame.end(), [&](const std::string& line) {
        return line.find(text) != std::string::npos;
      });
    });
  };
  const auto fits = [&](size_t columns) {
    for (const std::string& line : terminal.Frame()) EXPECT_LE(cli::Width(line), columns) << line;
  };
  ASSERT_TRUE(shows("[cpu]", 24)) << terminal.output();
  EXPECT_TRUE(shows("in all", 24)) << terminal.output();
  EXPECT_THAT(terminal.output(), StartsWith("\x1b[?1049h"));
  fits(80);
  terminal.Send("\t");
  EXPECT_TRUE(shows("[llc]", 24)) << terminal.output();
  terminal.Send("\x1b[D\x1b[D");
  EXPECT_TRUE(shows("[retransmit]", 24)) << terminal.output();
  terminal.Resize(132, 43);
  EXPECT_TRUE(shows("[retransmit]", 43)) << terminal.output();
  fits(132);
  terminal.Resize(20, 5);  // too small to be of use: it must not break
  EXPECT_TRUE(shows("tellt", 5)) << terminal.output();
  fits(20);
  // The collector goes away and comes back: the screen says so and goes on.
  terminal.Resize(80, 24);
  EXPECT_EQ(collector_.Stop(), 0);
  EXPECT_TRUE(terminal.Await([&] {
    const std::vector<std::string> frame = terminal.Frame();
    return std::any_of(frame.begin(), frame.end(), [](const std::string& line) {
      return line.find("collector localhost:") != std::string::npos;
    });
  })) << terminal.output();
  terminal.Send("q");
  EXPECT_EQ(terminal.AwaitEnd(), 0) << terminal.output();
  EXPECT_TRUE(terminal.output().ends_with("\x1b[?25h\x1b[?1049l")) << terminal.output();
}

TEST_F(IncidentTest, ASignalLeavesTheTerminalAsItWasToo) {
  PseudoTerminal terminal(80, 24);
  terminal.Start(TelltaleProgram(), As(viewer_, {"live"}));
  ASSERT_TRUE(terminal.Await([&] { return !terminal.Frame().empty(); })) << terminal.output();
  terminal.Send("\x03");
  EXPECT_EQ(terminal.AwaitEnd(), 0);
  EXPECT_TRUE(terminal.output().ends_with("\x1b[?25h\x1b[?1049l")) << terminal.output();
}

TEST_F(IncidentTest, TheLiveScreenWantsATerminal) {
  const ProgramRun run = Telltale({"live"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(
      run.output,
      "telltale: live: draws on a terminal and this is none; `telltale top` prints once, into "
      "anything\n");
}

TEST_F(IncidentTest, TheHeatMapOnAPipeAndOnATerminal) {
  const std::vector<std::string> heat = {"heat", "--vital", "cpu", "--from", "-3h"};
  const ProgramRun run = Telltale(heat);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("a full block is 0.75 CPUs"));
  EXPECT_THAT(run.output, HasSubstr("█"));
  EXPECT_THAT(run.output, HasSubstr("·"));  // before the node's first epoch
  EXPECT_THAT(run.output, Not(HasSubstr("\x1b")));
  PseudoTerminal terminal(100, 30);
  terminal.Start(TelltaleProgram(), As(viewer_, heat));
  EXPECT_EQ(terminal.AwaitEnd(), 0) << terminal.output();
  EXPECT_THAT(terminal.output(), HasSubstr("\x1b[38;5;"));
  for (const std::string& line : LinesOf(Unpainted(terminal.output()))) {
    EXPECT_LE(cli::Width(line), 100u) << line;
  }
}

}  // namespace
}  // namespace telltale::testing
