// What the program says of itself to shells and to man is of use there, and leaves nothing out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/support/collector_process.h"
#include "tests/support/pseudo_terminal.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Said(const std::vector<std::string>& arguments) {
  const ProgramRun run = RunTelltale(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  return run.output;
}

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    std::ofstream(script_) << Said({"completion", "bash"})
                           << "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _telltale; "
                              "printf '%s ' \"${COMPREPLY[@]}\"\n";
  }
  // What bash offers for the last of these words.
  std::string Offered(const std::vector<std::string>& words) {
    Program bash(scratch_.path() + "/offered" + std::to_string(++asked_));
    std::vector<std::string> all = {script_};
    all.insert(all.end(), words.begin(), words.end());
    bash.Start("/bin/bash", all);
    EXPECT_EQ(bash.AwaitEnd(), 0) << bash.log();
    return bash.log();
  }

  const TempDir scratch_;
  const std::string script_ = scratch_.path() + "/script";
  int asked_ = 0;
};

TEST_F(CompletionTest, OffersCommandsFlagsAndValues) {
  EXPECT_EQ(Offered({"telltale", "inv"}), "investigate ");
  EXPECT_EQ(Offered({"telltale", "top", "--hi"}), "--hide-self ");
  EXPECT_EQ(Offered({"telltale", "top", "--vital", "blocking/d"}), "blocking/disk ");
  EXPECT_EQ(Offered({"telltale", "top", "--by", "ex"}), "exe ");
  EXPECT_EQ(Offered({"telltale", "--timeout", "5", "diff", "--against-n"}), "--against-node ");
  EXPECT_EQ(Offered({"telltale", "token", "re"}), "revoke ");
  EXPECT_EQ(Offered({"telltale", "token", "create", "--exp"}), "--expires ");
  EXPECT_EQ(Offered({"telltale", "top", "--no-such"}), " ");
}

constexpr const char* kZsh = "/usr/bin/zsh";

// A zsh in which `telltale` writes down what it was called with.
class ZshTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(kZsh, X_OK) != 0) GTEST_SKIP() << "zsh is not installed (Debian: zsh)";
    std::ofstream(script_) << Said({"completion", "zsh"});
    Program check(scratch_.path() + "/check");
    check.Start(kZsh, {"-n", script_});
    ASSERT_EQ(check.AwaitEnd(), 0) << check.log();
  }
  void Begin(const std::string& how) {
    terminal_.Start(kZsh, {"-f", "-i"}, {{"HOME", scratch_.path()}});
    terminal_.Send(how + "; telltale() { print -r -- \"$*\" >> " + typed_ + " }; print rea''dy\n");
    ASSERT_TRUE(terminal_.Await([&] {
      return terminal_.output().find("ready") != std::string::npos;
    })) << terminal_.output();
  }
  // What was called after Tab and Enter behind these words.
  std::string Completed(const std::string& words) {
    const std::string before = ReadAll(typed_);
    terminal_.Send("telltale " + words + "\t\n");
    EXPECT_TRUE(terminal_.Await([&] {
      const std::string now = ReadAll(typed_);
      return now.size() > before.size() && now.back() == '\n';
    })) << terminal_.output();
    return ReadAll(typed_).substr(before.size());
  }

  const TempDir scratch_;
  const std::string script_ = scratch_.path() + "/_telltale", typed_ = scratch_.path() + "/typed";
  PseudoTerminal terminal_{200, 24};
};

TEST_F(ZshTest, InADirectoryOfFpathTheFirstTabCompletesAlready) {
  Begin("fpath=(" + scratch_.path() + " $fpath); autoload -Uz compinit; compinit -u -d " +
        scratch_.path() + "/dump");
  EXPECT_EQ(Completed("inv"), "investigate\n");
  EXPECT_EQ(Completed("top --hi"), "top --hide-self\n");
  EXPECT_EQ(Completed("top --vital blocking/d"), "top --vital blocking/disk\n");
  EXPECT_EQ(Completed("token re"), "token revoke\n");
  EXPECT_EQ(Completed("--timeout 5 diff --against-n"), "--timeout 5 diff --against-node\n");
}

TEST_F(ZshTest, SourcedItCompletesWhereNothingWasPrepared) {
  Begin("source " + script_);
  EXPECT_EQ(Completed("inv"), "investigate\n");
  EXPECT_EQ(Completed("top --by ex"), "top --by exe\n");
}

TEST(DocumentsTest, AnotherShellIsRefusedByName) {
  const ProgramRun run = RunTelltale({"completion", "fish"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.output, HasSubstr("\"fish\": must be bash or zsh"));
  EXPECT_THAT(Said({"completion", "zsh"}), StartsWith("#compdef telltale\n"));
}

TEST(DocumentsTest, EveryCommandHasAPageWithItsFlagsAndExamples) {
  const TempDir dir;
  Said({"man", "--dir", dir.path()});
  const std::string all = ReadAll(dir.path() + "/telltale.1");
  EXPECT_THAT(all, StartsWith(".TH TELLTALE 1"));
  EXPECT_THAT(all, HasSubstr(".B investigate\n"));
  const std::string top = ReadAll(dir.path() + "/telltale-top.1");
  EXPECT_EQ(top, Said({"man", "top"}));
  EXPECT_THAT(top, HasSubstr("\\-\\-hide\\-self"));
  EXPECT_THAT(top, HasSubstr(".SH EXAMPLES\n.nf\n"));
  EXPECT_EQ(ReadAll(dir.path() + "/telltale-token-create.1"), Said({"man", "token create"}));
  const ProgramRun none = RunTelltale({"man", "tops"});
  EXPECT_EQ(none.exit_code, 5);
  EXPECT_THAT(none.output, HasSubstr("nearest: top"));
}

}  // namespace
}  // namespace telltale::testing
