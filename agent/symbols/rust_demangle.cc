#include "agent/symbols/rust_demangle.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "agent/symbols/rust_v0.h"

namespace telltale::agent {
namespace {

// Legacy: an Itanium nested name whose last part is 'h' and 16 hexadecimal digits.

constexpr size_t kHashBytes = 17;

// A hash of a real function has many different digits; a C++ name that looks like one has not.
bool IsHash(std::string_view part) {
  if (part.size() != kHashBytes || part[0] != 'h') return false;
  uint32_t seen = 0;
  for (const char c : part.substr(1)) {
    if (!IsHexDigit(c)) return false;
    seen |= 1u << (IsDigit(c) ? c - '0' : c - 'a' + 10);
  }
  return __builtin_popcount(seen) >= 5;
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

bool IsCharacter(uint32_t code) {
  return code >= 0x20 && code != 0x7f && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

// What stands between two '$'. False: nothing Rust writes.
bool AppendEscape(std::string_view escape, std::string* out) {
  constexpr std::pair<std::string_view, char> kKnown[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'},
                                                          {"LT", '<'}, {"GT", '>'}, {"LP", '('},
                                                          {"RP", ')'}, {"C", ','}};
  for (const auto& [name, c] : kKnown) {
    if (escape != name) continue;
    out->push_back(c);
    return true;
  }
  uint32_t code = 0;
  if (escape.size() < 2 || escape.size() > 7 || escape[0] != 'u') return false;
  const auto [end, error] =
      std::from_chars(escape.data() + 1, escape.data() + escape.size(), code, 16);
  if (error != std::errc{} || end != escape.data() + escape.size() || !IsCharacter(code)) {
    return false;
  }
  AppendUtf8(code, out);
  return true;
}

bool AppendLegacyPart(std::string_view part, std::string* out) {
  if (part.starts_with("_$")) part.remove_prefix(1);
  while (!part.empty()) {
    if (part.starts_with("..")) {
      out->append("::");
      part.remove_prefix(2);
    } else if (part[0] == '$') {
      const size_t end = part.find('$', 1);
      if (end == std::string_view::npos || !AppendEscape(part.substr(1, end - 1), out))
        return false;
      part.remove_prefix(end + 1);
    } else {
      out->push_back(part[0]);
      part.remove_prefix(1);
    }
  }
  return true;
}

std::optional<std::string> Legacy(std::string_view rest) {  // without "_ZN"
  std::string out;
  std::string_view last;
  while (!rest.empty() && IsDigit(rest[0])) {
    size_t bytes = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), bytes);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (error != std::errc{} || bytes == 0 || bytes > rest.size()) return std::nullopt;
    if (!last.empty()) {
      if (!out.empty()) out.append("::");
      if (!AppendLegacyPart(last, &out)) return std::nullopt;
    }
    last = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  const bool ends = rest == "E" || rest.starts_with("E.");
  if (!ends || !IsHash(last) || out.empty()) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::string> RustDemangled(std::string_view mangled, size_t max_bytes) {
  if (mangled.starts_with("_ZN")) {
    std::optional<std::string> name = Legacy(mangled.substr(3));
    if (name && name->size() > max_bytes) name->resize(max_bytes);
    return name;
  }
  // A digit would be the version of a mangling that does not exist yet.
  if (!mangled.starts_with("_R") || mangled.size() < 3 || IsDigit(mangled[2])) return std::nullopt;
  return RustV0Demangled(mangled.substr(2), max_bytes);
}

}  // namespace telltale::agent
