// The committed reference of all options is made from the tables that the programs read.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/config.h"
#include "collector/config.h"
#include "config/reference.h"

namespace telltale {
namespace {

constexpr const char* kFile = "deploy/docs/configuration.md";

std::string Reference() {
  agent::Config agent;
  collector::Config collector;
  return absl::StrCat(
      "# Configuration\n\nMade from the options' own tables; do not edit. Each option can stand in "
      "the file "
      "(`tls.ca` as `ca:` below `tls:`),\nin the environment (`TELLTALE_AGENT_TLS_CA`) or on the "
      "command line "
      "(`--tls-ca`); the later wins. `--print-config`\nshows what is in effect and where it came "
      "from, "
      "`--check-config` reads it and ends.\n\nThe last column but one says how a change takes "
      "effect: by SIGHUP "
      "(`systemctl reload`) or by a restart.\n\n## telltale-agent: /etc/telltale/agent.yaml\n\n",
      config::ReferenceMarkdown(agent::AgentOptions(agent)),
      "\n## telltale-collector: /etc/telltale/collector.yaml\n\n",
      config::ReferenceMarkdown(collector::CollectorOptions(collector)));
}

TEST(ConfigurationReferenceTest, TheDocumentIsTheTables) {
  if (std::getenv("TELLTALE_REWRITE") != nullptr) std::ofstream(kFile) << Reference();
  std::ifstream file(kFile);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), Reference())
      << "run this test with TELLTALE_REWRITE=1 and look at the difference";
}

}  // namespace
}  // namespace telltale
