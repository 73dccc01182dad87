#include "collector/cli/terminal_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace telltale::cli {
namespace {

// "1234567" -> "1,234,567"
std::string Grouped(double value) {
  std::string digits = absl::StrFormat("%.0f", std::abs(value));
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return absl::StrCat(value < 0 ? "-" : "", digits);
}

// Three significant digits, never in exponent form.
std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return Grouped(value);
  if (size >= 100 || size == 0) return absl::StrFormat("%.0f", value);
  if (size >= 10) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.2f", value);
}

struct Scale {
  double factor;
  const char* name;
};

std::string Scaled(double value, std::initializer_list<Scale> scales) {
  for (const Scale& scale : scales) {
    // 999.6 of a unit rounds to 1,000: that is one of the next.
    if (std::abs(value) >= scale.factor * 0.9995) {
      return absl::StrCat(ThreeDigits(value / scale.factor), " ", scale.name);
    }
  }
  const Scale& smallest = *(scales.end() - 1);
  return absl::StrCat(ThreeDigits(value / smallest.factor), " ", smallest.name);
}

std::string TimeQuantity(double seconds) {
  if (seconds == 0) return "0 s";
  if (std::abs(seconds) >= 2 * 86400) return ThreeDigits(seconds / 86400) + " d";
  if (std::abs(seconds) >= 2 * 3600) return ThreeDigits(seconds / 3600) + " h";
  if (std::abs(seconds) >= 600) return ThreeDigits(seconds / 60) + " min";
  return Scaled(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}

std::string ByteQuantity(double bytes) {
  if (std::abs(bytes) < 1024) return absl::StrFormat("%s B", ThreeDigits(std::round(bytes)));
  constexpr double kKi = 1024;
  return Scaled(
      bytes,
      {{kKi * kKi * kKi * kKi, "TiB"}, {kKi * kKi * kKi, "GiB"}, {kKi * kKi, "MiB"}, {kKi, "KiB"}});
}

}  // namespace

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

std::string Count(double value) {
  if (std::abs(value) < 999'999.5) {
    const bool whole = value == std::floor(value);
    return whole || std::abs(value) >= 100 ? Grouped(std::round(value)) : ThreeDigits(value);
  }
  return Scaled(value, {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}});
}

namespace {

// "calls" -> "call", "misses" -> "miss".
std::string_view Singular(std::string_view unit) {
  for (const std::string_view ending : {"ses", "s"}) {
    if (unit.size() > ending.size() && unit.substr(unit.size() - ending.size()) == ending) {
      return unit.substr(0, unit.size() - (ending == "ses" ? 2 : 1));
    }
  }
  return unit;
}

}  // namespace

std::string Quantity(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "?";
  if (unit == "s") return TimeQuantity(value);
  if (unit == "bytes") return ByteQuantity(value);
  return absl::StrCat(Count(value), " ", Escaped(value == 1 ? Singular(unit) : unit));
}

std::string Rate(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "?";
  if (unit == "s") {
    if (value == 0) return "0 s/s";
    return Scaled(value, {{1, "s/s"}, {1e-3, "ms/s"}, {1e-6, "us/s"}, {1e-9, "ns/s"}});
  }
  return absl::StrCat(Quantity(value, unit), "/s");
}

std::string Rate(double value, std::string_view unit, std::string_view vital) {
  const std::string_view name = vital.substr(0, vital.find('/'));
  const bool busy = name == "cpu" || name == "softirq";
  const bool waits =
      name == "sched_delay" || name == "blocking" || name == "lock" || name == "reclaim";
  if (unit != "s" || !(busy || waits) || !std::isfinite(value)) return Rate(value, unit);
  const std::string number = value == 0      ? "0"
                             : value < 0.001 ? "<0.001"
                             : value < 0.1   ? absl::StrFormat("%.3f", value)
                                             : ThreeDigits(value);
  return absl::StrCat(number, busy ? " CPUs" : " waiting");
}

std::string Share(double share) {
  if (!std::isfinite(share)) return "?";
  const double percent = share * 100;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  return percent >= 99.95 || percent == 0 ? absl::StrFormat("%.0f %%", percent)
                                          : absl::StrFormat("%.1f %%", percent);
}

std::string Plural(double count, std::string_view noun) {
  return absl::StrCat(Count(count), " ", std::string(noun), count == 1 ? "" : "s");
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
