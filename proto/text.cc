#include "proto/text.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "proto/codec.h"

namespace telltale::proto {
namespace {

constexpr size_t kNodeNameBytes = 128;
constexpr char32_t kMalformed = 0xffffffff;

struct Character {
  char32_t code = kMalformed;
  size_t bytes = 0;
};

// The first code point, by the table of well-formed sequences in Unicode 15, section 3.9 (table
// 3-7): the smallest value a length may encode rules out overlong forms.
Character FirstCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (text.empty()) return {};
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  size_t bytes = 0;
  char32_t code = 0, least = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    bytes = 2, code = lead & 0x1f, least = 0x80;
  } else if ((lead & 0xf0) == 0xe0) {
    bytes = 3, code = lead & 0x0f, least = 0x800;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    bytes = 4, code = lead & 0x07, least = 0x10000;
  }
  if (bytes == 0 || text.size() < bytes) return {};
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

bool Shows(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) {
    return code >= first && code <= last;
  };
  if (code < 0x20 || within(0x7f, 0x9f)) return false;  // C0, DEL, C1
  if (code == 0xad || code == 0x61c || code == 0x180e) return false;
  if (within(0x200b, 0x200f) || within(0x2028, 0x202e) || within(0x2060, 0x206f)) return false;
  if (code == 0xfeff || within(0xfff0, 0xfffb) || within(0xe0000, 0xe0fff)) return false;
  return !within(0xfdd0, 0xfdef) && (code & 0xfffe) != 0xfffe;  // noncharacters
}

// How many bytes within [first, last], both ASCII, the text begins with: most text is nothing else.
size_t PlainBytes(std::string_view text, uint8_t first, uint8_t last) {
  size_t bytes = 0;
  while (bytes < text.size() && static_cast<uint8_t>(text[bytes]) >= first &&
         static_cast<uint8_t>(text[bytes]) <= last) {
    ++bytes;
  }
  return bytes;
}

}  // namespace

size_t PrintableCharacter(std::string_view text) {
  const Character first = FirstCharacter(text);
  return first.bytes != 0 && Shows(first.code) ? first.bytes : 0;
}

bool WellFormed(std::string_view text) {
  while (true) {
    text.remove_prefix(PlainBytes(text, 0, 0x7f));
    if (text.empty()) return true;
    const size_t bytes = FirstCharacter(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
}

bool Printable(std::string_view text) {
  while (true) {
    text.remove_prefix(PlainBytes(text, 0x20, 0x7e));
    if (text.empty()) return true;
    const size_t bytes = PrintableCharacter(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
}

std::string SanitizeText(std::string_view raw, size_t limit) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string clean;
  clean.reserve(std::min(raw.size(), limit));
  while (!raw.empty()) {
    const size_t bytes = PrintableCharacter(raw);
    const size_t grows = bytes != 0 ? bytes : 4;
    if (clean.size() + grows > limit) break;
    if (bytes != 0) {
      clean.append(raw.substr(0, bytes));
    } else {
      const auto bad = static_cast<uint8_t>(raw.front());
      clean.append({'\\', 'x', kHex[bad >> 4], kHex[bad & 0xf]});
    }
    raw.remove_prefix(bytes != 0 ? bytes : 1);
  }
  return clean;
}

bool ValidNodeName(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kNodeNameBytes && name[0] != '-' && name[0] != '.' &&
         std::ranges::all_of(name, fits);
}

}  // namespace telltale::proto
