#include "collector/metrics/exposition.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace telltale::metrics {
namespace {

void Escape(std::string_view text, bool quotes, std::string& out) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

}  // namespace

void WriteFamily(const MetricRow& row, std::string& out) {
  out += "# HELP ";
  out += row.name;
  out += ' ';
  Escape(row.meaning, false, out);
  out += "\n# TYPE ";
  out += row.name;
  out += row.type == MetricType::kCounter ? " counter\n"
         : row.type == MetricType::kGauge ? " gauge\n"
                                          : " histogram\n";
}

void WriteSample(const MetricRow& row, std::string_view suffix, const Labels& labels,
                 std::string_view value, std::string& out) {
  out += row.name;
  out += suffix;
  char separator = '{';
  for (const auto& [name, text] : labels) {
    out += separator;
    out += name;
    out += "=\"";
    Escape(text, true, out);
    out += '"';
    separator = ',';
  }
  if (labels.size() > 0) out += '}';
  out += ' ';
  out += value;
  out += '\n';
}

std::string Integer(Wide value) {
  char digits[40];
  char* begin = std::end(digits);
  // Dividing 128 bits is a call of its own for each digit, and nearly all figures have 64.
  for (; value > UINT64_MAX; value /= 10) {
    *--begin = static_cast<char>('0' + static_cast<int>(value % 10));
  }
  auto rest = static_cast<uint64_t>(value);
  do {
    *--begin = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  return std::string(begin, std::end(digits));
}

std::string Scaled(Wide value, int decimals) {
  std::string text = Integer(value);
  const auto places = static_cast<size_t>(decimals);
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  text.insert(text.size() - places, 1, '.');
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  return std::string(std::begin(digits), end);
}

}  // namespace telltale::metrics
