// Log2 histograms with r parts an octave (design of v1.Histogram): bucket b holds the values v with
// floor(r * log2(v)) == b; 0 and 1 have bucket 0. r = 4 makes neighbouring bounds differ by
// 2^(1/4), so a quantile's geometric middle is within 9.1 % of it. All placing is exact integer
// arithmetic, the same on every machine; only what is shown to people is floating point. Plain
// values and free functions: any thread.

#ifndef TELLTALE_SKETCH_HISTOGRAM_H_
#define TELLTALE_SKETCH_HISTOGRAM_H_

#include <cstdint>
#include <vector>

namespace telltale::sketch {

// r is 1, 2 or 4 everywhere.
bool AllowedParts(uint32_t r);

// 64 * r: one past the highest bucket of a 64-bit value.
constexpr uint32_t BucketCount(uint32_t r) { return 64 * r; }

uint32_t BucketOf(uint64_t value, uint32_t r);

// The integers of a bucket: low <= v <= high. Empty (low > high) where no integer falls in, as in
// bucket 1 at r = 4.
struct BucketBounds {
  uint64_t low = 0, high = 0;
};
BucketBounds BoundsOf(uint32_t bucket, uint32_t r);

struct Histogram {
  uint32_t r = 4;
  std::vector<uint32_t> bucket;  // ascending
  std::vector<uint64_t> count;   // same length, > 0
  uint64_t sum = 0;              // of the values
};

// From or to one count per bucket, `dense` being BucketCount(r) or fewer.
Histogram Sparse(const std::vector<uint64_t>& dense, uint32_t r, uint64_t sum);

// Adds values counted elsewhere, saturating. Where r differs the result has the smaller one: parts
// of an octave join exactly. Associative and commutative.
void Merge(const Histogram& other, Histogram& into);

// The same histogram with fewer parts an octave; r must divide the present one.
void Coarsen(uint32_t r, Histogram& histogram);

uint64_t Count(const Histogram& histogram);

// Bounds of the bucket that holds the value of rank ceil(q * count), at least 1; {0, 0} if empty. 0
// <= q <= 1.
BucketBounds QuantileBounds(const Histogram& histogram, double q);
// Its geometric middle.
double Quantile(const Histogram& histogram, double q);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_HISTOGRAM_H_
