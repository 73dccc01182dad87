#include <cstdint>

#include "collector/cli/terminal_text.h"
#include "collector/formats/escape.h"

namespace telltale::cli {
namespace {

using formats::CodePoint;
using formats::HeadOf;

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

size_t Width(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    if (const size_t paint = PaintLength(text); paint > 0) {
      text.remove_prefix(paint);
      continue;
    }
    const CodePoint point = HeadOf(text);
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
    const CodePoint point = HeadOf(std::string_view(text).substr(i));
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
