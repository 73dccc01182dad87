// Feeds arbitrary text to the reader of perf maps, at once and in parts of as many bytes as the
// first byte says. Both must know the same and stay within their limits.
//
// Built as a libFuzzer target when the compiler is clang; its corpus is replayed by
// corpus_test.cc with any compiler.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/symbols/perf_map.h"

namespace {

using namespace telltale::agent;

void Require(bool fact) {
  if (!fact) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 1 << 20) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const PerfMap::Limits limits{.lines = 50, .name_bytes = 40, .bytes = 1'024};
  PerfMap whole(limits), parts(limits);
  whole.Append(text);
  for (size_t at = 0, part = 1 + data[0] % 64; at < text.size(); at += part) {
    parts.Append(text.substr(at, part));
  }
  Require(whole.bytes() <= limits.bytes && whole.size() <= 2 * limits.lines + 1);
  Require(whole.size() == parts.size() && whole.full() == parts.full());
  for (uint64_t address = 0; address < 0x3000; address += 0x135) {
    const std::string_view name = whole.NameAt(address);
    Require(name.size() <= limits.name_bytes && name == parts.NameAt(address));
  }
  whole.NameAt(~uint64_t{0});
  return 0;
}
