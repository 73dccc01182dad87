#include "sketch/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sketch/saturating.h"

namespace telltale::sketch {
namespace {

// ceil(2^(63 + k/4)): where the quarters of an octave begin for a value shifted up to 64 bits. The
// powers are irrational for k = 1, 2, 3, so an integer is at or above 2^(63 + k/4) iff it is at or
// above the ceiling.
constexpr uint64_t kQuarter[] = {0x8000000000000000, 0x9837f0518db8a970, 0xb504f333f9de6485,
                                 0xd744fccad69d6af5};

// The least integer of bucket `bucket` or above: ceil(2^(bucket / r)); 2^64 does not fit and is not
// asked for.
uint64_t Least(uint32_t bucket, uint32_t r) {
  if (bucket == 0) return 0;
  const uint32_t octave = bucket / r, quarter = bucket % r * (4 / r);
  const uint32_t shift = 63 - octave;
  const uint64_t floor = kQuarter[quarter] >> shift;
  return floor << shift == kQuarter[quarter] ? floor : floor + 1;
}

void Append(uint32_t bucket, uint64_t count, Histogram& to) {
  if (!to.bucket.empty() && to.bucket.back() == bucket) {
    to.count.back() = SaturatingAdd(to.count.back(), count);
  } else {
    to.bucket.push_back(bucket);
    to.count.push_back(count);
  }
}

}  // namespace

bool AllowedParts(uint32_t r) { return r == 1 || r == 2 || r == 4; }

uint32_t BucketOf(uint64_t value, uint32_t r) {
  if (value <= 1) return 0;
  const int zeros = std::countl_zero(value);
  const uint64_t shifted = value << zeros;
  uint32_t quarter = 0;
  while (quarter < 3 && shifted >= kQuarter[quarter + 1]) ++quarter;
  return static_cast<uint32_t>(63 - zeros) * r + quarter / (4 / r);
}

BucketBounds BoundsOf(uint32_t bucket, uint32_t r) {
  const uint64_t high = bucket + 1 >= BucketCount(r) ? ~uint64_t{0} : Least(bucket + 1, r) - 1;
  return {Least(bucket, r), high};
}

Histogram Sparse(const std::vector<uint64_t>& dense, uint32_t r, uint64_t sum) {
  Histogram histogram{.r = r, .bucket = {}, .count = {}, .sum = sum};
  for (uint32_t bucket = 0; bucket < dense.size(); ++bucket) {
    if (dense[bucket] != 0) Append(bucket, dense[bucket], histogram);
  }
  return histogram;
}

void Coarsen(uint32_t r, Histogram& histogram) {
  const uint32_t join = histogram.r / r;
  if (join == 1) return;
  Histogram coarse{.r = r, .bucket = {}, .count = {}, .sum = histogram.sum};
  for (size_t i = 0; i < histogram.bucket.size(); ++i) {
    Append(histogram.bucket[i] / join, histogram.count[i], coarse);
  }
  histogram = std::move(coarse);
}

void Merge(const Histogram& other, Histogram& into) {
  Histogram right = other;
  const uint32_t r = std::min(right.r, into.r);
  Coarsen(r, right);
  Coarsen(r, into);
  Histogram merged{.r = r, .bucket = {}, .count = {}, .sum = SaturatingAdd(into.sum, right.sum)};
  size_t i = 0, j = 0;
  while (i < into.bucket.size() || j < right.bucket.size()) {
    const bool left =
        j == right.bucket.size() || (i < into.bucket.size() && into.bucket[i] <= right.bucket[j]);
    if (left) {
      Append(into.bucket[i], into.count[i], merged);
      ++i;
    } else {
      Append(right.bucket[j], right.count[j], merged);
      ++j;
    }
  }
  into = std::move(merged);
}

uint64_t Count(const Histogram& histogram) {
  uint64_t count = 0;
  for (const uint64_t one : histogram.count) count = SaturatingAdd(count, one);
  return count;
}

BucketBounds QuantileBounds(const Histogram& histogram, double q) {
  const uint64_t count = Count(histogram);
  if (count == 0) return {};
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count));
  // A double may round a count of more than 53 bits up beyond it.
  const uint64_t rank = wanted >= static_cast<double>(count)
                            ? count
                            : std::max<uint64_t>(1, static_cast<uint64_t>(wanted));
  uint64_t seen = 0;
  for (size_t i = 0; i < histogram.bucket.size(); ++i) {
    seen = SaturatingAdd(seen, histogram.count[i]);
    if (seen >= rank) return BoundsOf(histogram.bucket[i], histogram.r);
  }
  return BoundsOf(histogram.bucket.back(), histogram.r);
}

double Quantile(const Histogram& histogram, double q) {
  const BucketBounds bounds = QuantileBounds(histogram, q);
  const double low = static_cast<double>(bounds.low), high = static_cast<double>(bounds.high);
  return bounds.low == 0 ? high / 2 : std::sqrt(low * high);
}

}  // namespace telltale::sketch
