// deploy/docs/filters.md does what it says: its own commands, from the installed header to what the
// example found, against a real collector.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/collector_process.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/program.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kEpochs = 20;

// The page's blocks of commands, in order.
std::vector<std::string> Blocks() {
  std::vector<std::string> blocks;
  std::ifstream page("deploy/docs/filters.md");
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```sh") {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

class FiltersPageTest : public ::testing::Test {
 protected:
  // A block as typed in the scratch directory of a machine whose / is `root_`.
  ProgramRun Type(const std::string& block) {
    const std::string text = absl::StrReplaceAll(
        block,
        {{"/usr/share/doc", root_ + "/usr/share/doc"},
         {"/etc/telltale/filters.d", filters_},
         // The package's files; making it takes the whole build.
         {"apt install ./telltale-filter-dev_*.deb",
          absl::StrCat("cmake --install " TELLTALE_BUILD " --component dev --prefix ", root_)}});
    const std::string log = scratch_.path() + "/typed.log";
    std::ofstream(log, std::ios::trunc).flush();
    Program shell(log);
    shell.Start("/usr/bin/env",
                {"-C", scratch_.path(), absl::StrCat("CMAKE_PREFIX_PATH=", root_, "/usr"),
                 absl::StrCat("PATH=", TELLTALE_BIN, ":", std::getenv("PATH")),
                 "TELLTALE_COLLECTOR=" + collector_.address(), "TELLTALE_TLS_CA=" + pki_.ca(),
                 "TELLTALE_TLS_CERT=" + viewer_.cert, "TELLTALE_TLS_KEY=" + viewer_.key, "bash",
                 "-euc", text});
    const int code = shell.AwaitEnd();
    return {code, shell.log()};
  }

  const TempDir scratch_;
  const std::string root_ = scratch_.path() + "/root";
  const std::string filters_ = scratch_.path() + "/filters.d";
  Pki pki_{scratch_.path(), "ca"};
  const IssuedFiles node_ = pki_.Issue("web-1", "URI:telltale://node/web-1");
  const IssuedFiles viewer_ = pki_.Issue("eve", "URI:telltale://viewer/eve");
  CollectorProcess collector_{scratch_.path() + "/data", pki_,
                              pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")};
};

TEST_F(FiltersPageTest, FromTheHeaderToWhatTheExampleFound) {
  ASSERT_TRUE(
      collector_.Start({"--filters-dir", filters_, "--filters-options", "crowded.taken=0.8"}))
      << collector_.log();
  RawAgent agent(collector_.address(), pki_.ca(), node_);
  ASSERT_TRUE(agent.Write(Hello({})) && agent.Write(SchemaMessage()));
  const uint64_t newest = LastMinute();
  for (uint64_t sequence = 1; sequence <= kEpochs; ++sequence) {
    // Crowded from the tenth to the fourteenth.
    v1::SummaryBody body = BodyEnding(newest - (kEpochs - sequence) * 60 * kSecond,
                                      sequence >= 10 && sequence < 15 ? 58 * kSecond : kSecond);
    body.mutable_gauges()->set_cpus_online(1);
    ASSERT_TRUE(agent.Write(Summary({}, sequence, body)));
    const auto verdict = agent.ReadVerdict();
    ASSERT_TRUE(verdict.has_value() && verdict->kind() == v1::Verdict::STORED);
  }

  const std::vector<std::string> blocks = Blocks();
  ASSERT_EQ(blocks.size(), 5u);
  for (size_t i = 0; i < 3; ++i) {
    const ProgramRun typed = Type(blocks[i]);
    ASSERT_EQ(typed.exit_code, 0) << blocks[i] << typed.output;
  }
  ProgramRun listed;
  EXPECT_TRUE(Await([&] {
    listed = Type(blocks[3]);
    return listed.output.find("running", listed.output.find("from filters.d")) !=
               std::string::npos &&
           listed.output.find("crowded", listed.output.find("from filters.d")) != std::string::npos;
  })) << listed.output
      << collector_.log();
  const ProgramRun run = Type(blocks[4]);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("1.0 of 1 CPUs taken, for 5 epochs"));
  EXPECT_THAT(run.output, HasSubstr("against: a node that is paid to compute"));
  EXPECT_THAT(run.output, HasSubstr("80 % in 3 in a row are crowded"));
  EXPECT_THAT(run.output, HasSubstr("the same as live"));
  EXPECT_EQ(collector_.Stop(), 0) << collector_.log();
}

}  // namespace
}  // namespace telltale::testing
