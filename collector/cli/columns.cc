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

// Text with what stands in brackets of this kind left out; unchanged where they do not match.
std::string Emptied(const std::string& text, char open, char close) {
  std::string out;
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    // "(invoice-render)" behind a blank is a file, not arguments; "->" and "operator<" are no
    // brackets.
    const bool opens = text[i] == open && i > 0 && text[i - 1] != ' ';
    if (depth == 0 && !opens) {
      out += text[i];
      continue;
    }
    if (opens || (depth > 0 && text[i] == open)) {
      if (depth++ == 0) out += open;
    } else if (text[i] == close && text[i - 1] != '-' && --depth == 0) {
      out += "...";
      out += close;
    }
  }
  return depth == 0 ? out : text;
}

// A name of C++ by what people know it by: first its template's arguments go, then its own, then
// the file it is in.
std::string WithoutArguments(const std::string& name, size_t columns) {
  const bool code = name.find("::") != std::string::npos || name.find('<') != std::string::npos;
  if (!code || name.find("operator") != std::string::npos) return name;
  std::string text = Emptied(name, '<', '>');
  if (Width(text) <= columns) return text;
  text = Emptied(text, '(', ')');
  if (Width(text) <= columns) return text;
  const size_t file = text.rfind(" (");
  return file != std::string::npos && text.back() == ')' ? text.substr(0, file) : text;
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

std::string Shortened(const std::string& whole, size_t columns) {
  if (Width(whole) <= columns || columns < 5) return whole;
  const std::string text = WithoutArguments(whole, columns);
  if (Width(text) <= columns) return text;
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
