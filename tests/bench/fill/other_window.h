// A window of one node as another node might have had it: the same labels, groups and seconds, all
// weights by one factor. Pure.

#ifndef TELLTALE_TESTS_BENCH_FILL_OTHER_WINDOW_H_
#define TELLTALE_TESTS_BENCH_FILL_OTHER_WINDOW_H_

#include "storage/rollup/window_model.h"

namespace telltale::bench {

// In 1,024ths; an integer, so that what was not larger stays so and sums stay within their
// rounding.
struct Factor {
  uint64_t parts = 1024;
  uint64_t Of(uint64_t value) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(value) * parts / 1024);
  }
};

// The totals alone, for line blocks: watched time and each sub-series' events, weight and extremes.
v1::RollupWindow OtherTotals(const v1::RollupWindow& window, Factor factor);

storage::WindowRows OtherWindow(const storage::WindowRows& rows, Factor factor);

}  // namespace telltale::bench

#endif  // TELLTALE_TESTS_BENCH_FILL_OTHER_WINDOW_H_
