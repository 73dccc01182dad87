#include "collector/formats/csv.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "collector/formats/escape.h"

namespace telltale::formats {

Csv::Csv(const std::vector<std::string_view>& titles) : columns_(titles.size()) {
  for (const std::string_view title : titles) Cell(title);
  EndRow();
}

void Csv::Cell(std::string_view cell) {
  if (cells_ == columns_) return;
  if (cells_++ > 0) bytes_ += ',';
  bytes_ += cell;
}

Csv& Csv::Text(std::string_view text) {
  std::string cell = Escaped(text);
  // What else may begin a formula (tab, carriage return) is escaped already.
  if (!cell.empty() && std::string_view("=+-@").find(cell[0]) != std::string_view::npos) {
    cell.insert(0, 1, '\'');
  }
  if (cell.find_first_of(",\"") != std::string::npos || cell.starts_with(' ') ||
      cell.ends_with(' ')) {
    cell = absl::StrCat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
  }
  Cell(cell);
  return *this;
}

Csv& Csv::Number(double value) {
  if (!std::isfinite(value)) return Empty();
  std::string text;
  for (int digits = 6; digits <= 17; ++digits) {
    text = absl::StrFormat("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value) break;
  }
  Cell(text);
  return *this;
}

Csv& Csv::Flag(bool value) {
  Cell(value ? "1" : "0");
  return *this;
}

Csv& Csv::Time(double unix_s) {
  const absl::Time moment = absl::FromUnixMicros(std::llround(unix_s * 1e6));
  Cell(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", moment, absl::UTCTimeZone()));
  return *this;
}

Csv& Csv::Empty() {
  Cell("");
  return *this;
}

void Csv::EndRow() {
  while (cells_ < columns_) Cell("");
  bytes_ += "\r\n";
  cells_ = 0;
}

}  // namespace telltale::formats
