#include "collector/cli/terminal_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace telltale::cli {

Style StyleOfStdout() {
  Style style;
  if (isatty(STDOUT_FILENO) == 0) return style;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  style.colour = (no_colour == nullptr || *no_colour == '\0') && !dumb;
  style.bars = !dumb;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.columns = size.ws_col;
  return style;
}

std::string Painted(std::string_view text, Ink ink, const Style& style) {
  const char* code = nullptr;
  switch (ink) {
    case Ink::kPlain:
      break;
    case Ink::kBold:
      code = "1";
      break;
    case Ink::kDim:
      code = "2";
      break;
    case Ink::kGood:
      code = "32";
      break;
    case Ink::kWarn:
      code = "33";
      break;
    case Ink::kBad:
      code = "31";
      break;
  }
  if (!style.colour || code == nullptr || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", code, "m", std::string(text), "\x1b[0m");
}

std::string Bar(double share, size_t columns, const Style& style) {
  if (!style.bars || !(share > 0)) return "";
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double cells = std::min(share, 1.0) * static_cast<double>(columns);
  std::string bar;
  const size_t full = static_cast<size_t>(cells);
  for (size_t i = 0; i < full; ++i) bar += "█";
  bar += kEighths[static_cast<size_t>((cells - static_cast<double>(full)) * 8)];
  return bar;
}

std::string Table::Render(const Style& style, const std::string& indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  std::vector<bool> used(columns_.size(), false);
  size_t last_used = 0;
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size() && i < columns_.size(); ++i) {
      if (row[i].empty()) continue;
      used[i] = true;
      last_used = std::max(last_used, i);
      widths[i] = std::max(widths[i], Width(row[i]));
      if (columns_[i].shrink_to > 0) widths[i] = std::min(widths[i], kWidestCell);
    }
  }
  size_t total = Width(indent);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!used[i]) continue;
    widths[i] = std::max(widths[i], Width(columns_[i].title));
    total += widths[i] + 2;
  }
  if (style.columns > 0) {
    for (size_t i = 0; i < columns_.size() && total > style.columns + 2; ++i) {
      if (!used[i] || columns_[i].shrink_to == 0 || widths[i] <= columns_[i].shrink_to) continue;
      const size_t give = std::min(total - style.columns - 2, widths[i] - columns_[i].shrink_to);
      widths[i] -= give;
      total -= give;
    }
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells, bool title) {
    std::string text = indent;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!used[i]) continue;
      std::string cell = i < cells.size() ? cells[i] : "";
      if (!title && columns_[i].shrink_to > 0) cell = Shortened(cell, widths[i]);
      const size_t width = Width(cell);
      const std::string pad(width < widths[i] ? widths[i] - width : 0, ' ');
      if (title) cell = Painted(cell, Ink::kBold, style);
      const bool right = columns_[i].align == Align::kRight;
      text += right ? pad + cell : cell + (i == last_used ? "" : pad);
      if (i != last_used) text += "  ";
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    absl::StrAppend(&out, text, "\n");
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  if (std::ranges::any_of(titles, [](const std::string& title) { return !title.empty(); })) {
    line(titles, true);
  }
  for (const auto& row : rows_) line(row, false);
  return out;
}

}  // namespace telltale::cli
