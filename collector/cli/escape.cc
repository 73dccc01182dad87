#include <cstdint>

#include "absl/strings/str_format.h"
#include "collector/cli/terminal_text.h"

namespace telltale::cli {
namespace {

// One code point at the head of `text`; length 0 if the bytes are not valid UTF-8 there.
struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;
};

CodePoint Head(std::string_view text) {
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

// Code points that move, hide or imitate others: they could make one name look like another.
bool Deceptive(uint32_t point) {
  return (point >= 0x80 && point < 0xA0) || point == 0xA0 || point == 0xAD || point == 0x61C ||
         (point >= 0x180B && point <= 0x180F) || (point >= 0x2000 && point <= 0x200F) ||
         (point >= 0x2028 && point <= 0x202F) || (point >= 0x205F && point <= 0x206F) ||
         point == 0x3000 || (point >= 0xFE00 && point <= 0xFE0F) || point == 0xFEFF ||
         (point >= 0xFFF0 && point <= 0xFFFC) || (point >= 0xE0000 && point <= 0xE0FFF);
}

// Columns of one code point, after East Asian Width; combining marks take none.
size_t ColumnsOf(uint32_t point) {
  if ((point >= 0x300 && point <= 0x36F) || (point >= 0x1AB0 && point <= 0x1AFF) ||
      (point >= 0x20D0 && point <= 0x20FF)) {
    return 0;
  }
  const bool wide = (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
                    (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
                    (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
                    (point >= 0x1F300 && point <= 0x1FAFF) ||
                    (point >= 0x20000 && point <= 0x3FFFD);
  return wide ? 2 : 1;
}

// Length of one of Painted()'s sequences at the head of `text`, else 0.
size_t PaintLength(std::string_view text) {
  if (text.size() < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

}  // namespace

std::string Escaped(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    const CodePoint point = Head(raw);
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

size_t Width(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    if (const size_t paint = PaintLength(text); paint > 0) {
      text.remove_prefix(paint);
      continue;
    }
    const CodePoint point = Head(text);
    columns += point.length == 0 ? 1 : ColumnsOf(point.value);
    text.remove_prefix(point.length == 0 ? 1 : point.length);
  }
  return columns;
}

std::string Shortened(const std::string& text, size_t columns) {
  if (Width(text) <= columns || columns < 5) return text;
  const size_t head_columns = (columns - 3) / 3, tail_columns = columns - 3 - head_columns;
  // Positions where a code point begins, with the columns before each.
  std::vector<size_t> at, before;
  size_t used = 0;
  for (size_t i = 0; i < text.size();) {
    at.push_back(i), before.push_back(used);
    const CodePoint point = Head(std::string_view(text).substr(i));
    used += point.length == 0 ? 1 : ColumnsOf(point.value);
    i += point.length == 0 ? 1 : point.length;
  }
  size_t head_end = 0, tail_begin = text.size();
  for (size_t i = 0; i < at.size(); ++i) {
    if (before[i] <= head_columns) head_end = at[i];
    if (used - before[i] <= tail_columns) {
      tail_begin = at[i];
      break;
    }
  }
  return text.substr(0, head_end) + "..." + text.substr(tail_begin);
}

}  // namespace telltale::cli
