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

constexpr const char* kPreamble =
    R"(<!-- Made from the options' own tables by configuration_reference_test; do not edit. -->
# Configuration

Each option of the agent and of the collector can stand in their file (`tls.ca` as `ca:` below `tls:`), in the
environment (`TELLTALE_AGENT_TLS_CA`) or on the command line (`--tls-ca`); the later wins. `--print-config` shows what is in
effect and where it came from, `--check-config` reads it and ends. The defaults are those of the programs: the packages'
files in `/etc/telltale` set other directories, below `/var/lib/telltale-agent` and `/var/lib/telltale-collector`.

The last column but one says how a change takes effect: by SIGHUP (`systemctl reload`) or by a restart.

## telltale

It takes its flags, else `TELLTALE_COLLECTOR`, `TELLTALE_TLS_CA`, `TELLTALE_TLS_CERT` and `TELLTALE_TLS_KEY`, or
`TELLTALE_TLS_DIR`, else `~/.config/telltale.yaml`, else `/etc/telltale/cli.yaml`:

```yaml
collector: collector.example.org:7410   # default: localhost:7410
tls:
  dir: /home/ann/pki                    # default: /etc/telltale/pki
```

In that directory stand `ca.crt` and one person's certificate and key (`operator-ann.crt`, `operator-ann.key`; or of a
`viewer-`). Where there are several, or they stand elsewhere, name them: `ca`, `cert` and `key` below `tls`.
)";

std::string Reference() {
  agent::Config agent;
  collector::Config collector;
  return absl::StrCat(kPreamble, "\n## telltale-agent: /etc/telltale/agent.yaml\n\n",
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
