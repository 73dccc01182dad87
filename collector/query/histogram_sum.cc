#include "collector/query/histogram_sum.h"

#include <algorithm>
#include <cmath>

#include "collector/query/base_unit.h"

namespace telltale::query {
namespace {

double LowOf(uint32_t bucket, uint32_t r) {
  return bucket == 0 ? 0 : std::exp2(static_cast<double>(bucket) / r);
}
double HighOf(uint32_t bucket, uint32_t r) {
  return std::exp2((static_cast<double>(bucket) + 1) / r);
}

}  // namespace

void HistogramSum::Add(const v1::Histogram& histogram, double length_s) {
  const uint32_t r = std::max(1u, histogram.r());
  unit_ = histogram.unit();
  if (r_ == 0) r_ = r;
  if (r < r_) {
    std::map<uint32_t, double> coarser;
    for (const auto& [bucket, count] : counts_) coarser[bucket / (r_ / r)] += count;
    counts_ = std::move(coarser);
    r_ = r;
  }
  for (int i = 0; i < std::min(histogram.bucket_size(), histogram.count_size()); ++i) {
    counts_[histogram.bucket(i) / (r / r_)] += static_cast<double>(histogram.count(i));
  }
  sum_ += static_cast<double>(histogram.sum());
  entries_ += static_cast<double>(histogram.entries());
  exits_ += static_cast<double>(histogram.exits());
  share_s_ += length_s * histogram.share_ppm() * 1e-6;
  length_s_ += length_s;
}

double HistogramSum::Quantile(double share) const {
  double total = 0;
  for (const auto& [bucket, count] : counts_) total += count;
  double before = 0;
  for (const auto& [bucket, count] : counts_) {
    if (before + count >= share * total) {
      const double part = count > 0 ? (share * total - before) / count : 0;
      const double low = std::max(LowOf(bucket, r_), 0.5), high = HighOf(bucket, r_);
      return low * std::pow(high / low, std::clamp(part, 0.0, 1.0));
    }
    before += count;
  }
  return 0;
}

void HistogramSum::Write(v1::HistogramValues* out) const {
  const double factor = BaseFactor(unit_);
  out->set_r(r_);
  out->set_unit(std::string(BaseUnitName(unit_)));
  for (const auto& [bucket, count] : counts_) {
    out->add_low(LowOf(bucket, r_) * factor);
    out->add_high(HighOf(bucket, r_) * factor);
    out->add_count(count);
  }
  out->set_sum(sum_ * factor);
  out->set_entries(entries_);
  out->set_exits(exits_);
  out->set_share(length_s_ > 0 ? share_s_ / length_s_ : 0);
  if (!counts_.empty()) {
    out->set_p50(Quantile(0.5) * factor);
    out->set_p90(Quantile(0.9) * factor);
    out->set_p99(Quantile(0.99) * factor);
  }
}

}  // namespace telltale::query
