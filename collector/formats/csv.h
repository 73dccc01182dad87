// Rows of comma-separated values (RFC 4180).
//
// One thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_CSV_H_
#define TELLTALE_COLLECTOR_FORMATS_CSV_H_

#include <string>
#include <string_view>
#include <vector>

namespace telltale::formats {

class Csv {
 public:
  explicit Csv(const std::vector<std::string_view>& titles);

  // A cell of text: control characters are escaped, quotes doubled, and one that a spreadsheet
  // would take for a formula (it begins with = + - @) gets an apostrophe before it.
  Csv& Text(std::string_view text);
  Csv& Number(double value);  // as many digits as make it the same again
  Csv& Flag(bool value);      // 1 or 0
  Csv& Time(double unix_s);   // RFC 3339 in UTC, milliseconds
  Csv& Empty();
  // Ends the row: cells that are missing are empty.
  void EndRow();

  const std::string& bytes() const { return bytes_; }

 private:
  void Cell(std::string_view cell);

  std::string bytes_;
  const size_t columns_;
  size_t cells_ = 0;
};

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_CSV_H_
