#include "agent/symbols/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "agent/symbols/rust_demangle.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxMangled = 768;
constexpr size_t kMaxResult = 512;
// A back-reference repeats something already written: r of them, used by threes, can make a name
// 3^(r/3) times as long. 30 allow at most some MB for an instant.
constexpr int kMaxBackReferences = 30;

// Back-references of the Itanium ABI: S_, S0_ .. SZ_, T_, T0_ ...; upper bound.
int BackReferences(std::string_view mangled) {
  int count = 0;
  for (size_t i = 0; i + 1 < mangled.size(); ++i) {
    if (mangled[i] != 'S' && mangled[i] != 'T') continue;
    size_t end = i + 1;
    while (end < mangled.size() && (('0' <= mangled[end] && mangled[end] <= '9') ||
                                    ('A' <= mangled[end] && mangled[end] <= 'Z'))) {
      ++end;
    }
    if (end < mangled.size() && mangled[end] == '_') ++count;
  }
  return count;
}

}  // namespace

std::string Demangled(std::string_view mangled) {
  // Before C++: a legacy Rust name is a C++ name too, with its hash as the last part.
  if (std::optional<std::string> rust = RustDemangled(mangled, kMaxResult)) return *std::move(rust);
  std::string name(mangled.substr(0, kMaxMangled));
  if (mangled.size() <= kMaxMangled && mangled.starts_with("_Z") &&
      BackReferences(mangled) <= kMaxBackReferences) {
    int status = -1;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    if (status == 0 && readable) name = readable.get();
  }
  if (name.size() > kMaxResult) name.resize(kMaxResult);
  return name;
}

}  // namespace telltale::agent
