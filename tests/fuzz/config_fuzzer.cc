// Feeds arbitrary text to the readers of configuration. The first byte chooses whose:
//   'a' the agent's file    'c' the collector's    'v' one value for each kind of option
// What is read must print as a file that says the same; what is refused is one line that shows no
// control characters.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/config.h"
#include "collector/config.h"
#include "config/load.h"
#include "config/values.h"

namespace {

using namespace telltale;

void Require(bool fact) {
  if (!fact) std::abort();
}

void RequireOneLine(const absl::Status& status) {
  Require(!status.message().empty());
  for (const char c : status.message()) {
    Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

template <typename Values, typename Options>
void Read(const std::string& text, Options options) {
  Values values;
  const config::OptionTable table = options(values);
  const auto loaded = config::LoadText(table, text, "fuzz.yaml");
  if (!loaded.ok()) {
    RequireOneLine(loaded.status());
    return;
  }
  Values again;
  const config::OptionTable same = options(again);
  const auto reread = config::LoadText(same, config::Print(table, *loaded), "printed.yaml");
  Require(reread.ok());
  const config::Change change = config::Compare(table, same);
  Require(change.fixed.empty() && change.reloadable.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'a':
      Read<agent::Config>(rest, agent::AgentOptions);
      break;
    case 'c':
      Read<collector::Config>(rest, collector::CollectorOptions);
      break;
    case 'v':
      if (const auto n = config::ParseSeconds(rest, 1, UINT64_MAX); n.ok()) {
        Require(*config::ParseSeconds(config::FormatSeconds(*n), 1, UINT64_MAX) == *n);
      }
      if (const auto n = config::ParseBytes(rest, 0, UINT64_MAX); n.ok()) {
        Require(*config::ParseBytes(config::FormatBytes(*n), 0, UINT64_MAX) == *n);
      }
      (void)config::ParseAddress(rest);
      (void)config::ParseBool(rest);
      break;
    default:
      break;
  }
  return 0;
}
