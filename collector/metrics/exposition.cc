#include "collector/metrics/exposition.h"

#include <charconv>
#include <cmath>

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
  do {
    *--begin = static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  return std::string(begin, std::end(digits));
}

std::string Scaled(Wide value, int decimals) {
  Wide unit = 1;
  for (int i = 0; i < decimals; ++i) unit *= 10;
  std::string text = Integer(value / unit);
  Wide rest = value % unit;
  if (rest == 0) return text;
  text += '.';
  while (rest != 0) {
    unit /= 10;
    text += static_cast<char>('0' + static_cast<int>(rest / unit));
    rest %= unit;
  }
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
