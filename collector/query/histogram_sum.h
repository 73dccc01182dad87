// Adds up stored log2 histograms of one operation and reads quantiles off the sum.
//
// Bucket b of r parts an octave holds the values v with floor(r log2 v) == b, that is [2^(b/r),
// 2^((b+1)/r)); 0 has bucket 0. Histograms of different r add up at the coarser r, exactly:
// floor(floor(4x) / 4) = floor(x). One thread.

#ifndef TELLTALE_COLLECTOR_QUERY_HISTOGRAM_SUM_H_
#define TELLTALE_COLLECTOR_QUERY_HISTOGRAM_SUM_H_

#include <cstdint>
#include <map>

#include "telltale/v1/query.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::query {

class HistogramSum {
 public:
  // `length_s`: of the epoch, weighs its share.
  void Add(const v1::Histogram& histogram, double length_s);
  // The value below which `share` (0..1) of the counts lie, in stored units; geometric within a
  // bucket.
  double Quantile(double share) const;
  void Write(v1::HistogramValues* out) const;  // all but the name

 private:
  uint32_t r_ = 0;  // 0: nothing added yet
  v1::Unit unit_ = v1::UNIT_UNSPECIFIED;
  std::map<uint32_t, double> counts_;  // by bucket at r_
  double sum_ = 0, entries_ = 0, exits_ = 0, share_s_ = 0, length_s_ = 0;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_HISTOGRAM_SUM_H_
