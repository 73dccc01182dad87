#include "collector/query/past_times.h"

#include <algorithm>

namespace telltale::query {
namespace {

constexpr double kHourS = 3600, kDayS = 86400;
constexpr int kDays = 7;

double LengthOf(const TimeSpan& time) { return std::max(kHourS, time.end_s - time.start_s); }

}  // namespace

TimeSpan TimeBefore(const TimeSpan& time) { return {time.start_s - LengthOf(time), time.start_s}; }

TimeSpan TimeAfter(const TimeSpan& time, double now_s) {
  return {time.end_s, std::max(time.end_s, std::min(now_s, time.end_s + LengthOf(time)))};
}

std::vector<TimeSpan> SameTimeOfDays(const TimeSpan& time, double data_start_s) {
  const double middle_s = (time.start_s + time.end_s) / 2, half_s = LengthOf(time) / 2;
  std::vector<TimeSpan> spans;
  for (int day = 1; day <= kDays; ++day) {
    const TimeSpan span{middle_s - half_s - day * kDayS, middle_s + half_s - day * kDayS};
    if (span.end_s <= data_start_s) break;
    spans.push_back(span);
  }
  return spans;
}

}  // namespace telltale::query
