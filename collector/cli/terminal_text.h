// Text for a terminal: hostile bytes made harmless, widths in columns, tables whose columns line
// up, numbers with their units, bars and colours that only a terminal gets.
//
// Pure functions and value types: any thread.

#ifndef TELLTALE_COLLECTOR_CLI_TERMINAL_TEXT_H_
#define TELLTALE_COLLECTOR_CLI_TERMINAL_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "collector/formats/escape.h"
#include "collector/formats/quantity.h"

namespace telltale::cli {

// How to draw. The default is what a pipe gets.
struct Style {
  bool colour = false;  // a terminal, and NO_COLOR is not set
  bool bars = false;    // a terminal
  size_t columns = 0;   // width of the terminal; 0: no limit
};

// The style for what stdout is; `no_colour` is whether the environment has a non-empty NO_COLOR.
Style StyleOfStdout();

enum class Ink { kPlain, kBold, kDim, kGood, kWarn, kBad };
std::string Painted(std::string_view text, Ink ink, const Style& style);

using formats::Escaped;

// Columns a string takes; escape sequences of Painted() take none.
size_t Width(std::string_view text);

// Cut to `columns`: names of C++ lose their arguments first; then a "..." in the middle, where long
// paths differ least.
std::string Shortened(const std::string& text, size_t columns);

using formats::Count;
using formats::Plural;
using formats::Quantity;
using formats::Rate;
using formats::Share;

// share of `columns` as a bar of block characters; empty without bars.
std::string Bar(double share, size_t columns, const Style& style);

// Collects rows, then prints them aligned, two blanks between columns, numbers to the right. A cell
// that is last in its row may be longer than its column.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    // May be cut down to this many columns when the terminal is narrow, and is never wider than
    // kWidestCell; 0: never cut.
    size_t shrink_to = 0;
  };

  // A symbol of a thousand letters makes no line of a pipe as long; csv and json have it whole.
  static constexpr size_t kWidestCell = 120;

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells are printed as they are: escape what came from elsewhere first.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // Lines ended by '\n', each begun with `indent`. Columns without any content are left out.
  std::string Render(const Style& style, const std::string& indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_TERMINAL_TEXT_H_
