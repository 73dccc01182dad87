#include "collector/formats/escape.h"

#include "absl/strings/str_format.h"

namespace telltale::formats {
namespace {

// Code points that move, hide or imitate others: they could make one name look like another.
bool Deceptive(uint32_t point) {
  return (point >= 0x80 && point < 0xA0) || point == 0xA0 || point == 0xAD || point == 0x61C ||
         (point >= 0x180B && point <= 0x180F) || (point >= 0x2000 && point <= 0x200F) ||
         (point >= 0x2028 && point <= 0x202F) || (point >= 0x205F && point <= 0x206F) ||
         point == 0x3000 || (point >= 0xFE00 && point <= 0xFE0F) || point == 0xFEFF ||
         (point >= 0xFFF0 && point <= 0xFFFC) || (point >= 0xE0000 && point <= 0xE0FFF);
}

}  // namespace

CodePoint HeadOf(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  size_t length = 0;
  uint32_t value = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2, value = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3, value = lead & 0x0F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4, value = lead & 0x07;
  }
  if (length == 0 || text.size() < length) return {};
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {};
  return {value, length};
}

std::string Escaped(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    const CodePoint point = HeadOf(raw);
    if (point.length == 0) {
      out += absl::StrFormat("\\x%02x", static_cast<uint8_t>(raw[0]));
      raw.remove_prefix(1);
      continue;
    }
    if (point.value < 0x20 || point.value == 0x7F) {
      out += absl::StrFormat("\\x%02x", point.value);
    } else if (Deceptive(point.value)) {
      out += absl::StrFormat("\\u{%x}", point.value);
    } else if (point.value == '\\') {
      out += "\\\\";
    } else {
      out += raw.substr(0, point.length);
    }
    raw.remove_prefix(point.length);
  }
  return out;
}

std::string Markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

}  // namespace telltale::formats
