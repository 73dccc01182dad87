// Lists of what weighed how much at least and at most, merged the plain way. Part of the oracle.

#ifndef TELLTALE_TESTS_SUPPORT_ROLLUP_BOUNDS_H_
#define TELLTALE_TESTS_SUPPORT_ROLLUP_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace telltale::testing::oracle {

struct Bound {
  uint64_t low = 0, high = 0, count = 0, estimate = 0;
};
struct Listed {
  std::map<uint64_t, Bound> rows;
  uint64_t total = 0, threshold = 0, other = 0;
};

inline uint64_t Minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// The `keep` rows with the most low; what the others held goes into threshold and other.
Listed MergeBounds(const std::vector<Listed>& children, size_t keep);

// Ids by low, descending; of equals the smaller first.
std::vector<uint64_t> InOrder(const Listed& list);

}  // namespace telltale::testing::oracle

#endif  // TELLTALE_TESTS_SUPPORT_ROLLUP_BOUNDS_H_
