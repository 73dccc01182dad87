// Which past a time is held against: the hour before it and the same time of the seven days before;
// where that is little, the hour after it, too, since then an incident that went on is better than
// nothing.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_PAST_TIMES_H_
#define TELLTALE_COLLECTOR_QUERY_PAST_TIMES_H_

#include <vector>

namespace telltale::query {

struct TimeSpan {
  double start_s = 0, end_s = 0;
};

// The hour before [start, end), or as long as it is if that is longer.
TimeSpan TimeBefore(const TimeSpan& time);
// As long after it, not after `now_s`; empty (start == end) if that is not over.
TimeSpan TimeAfter(const TimeSpan& time, double now_s);
// The same time of each of the seven days before, an hour about it if it is shorter, nearest day
// first; none that ends before `data_start_s`.
std::vector<TimeSpan> SameTimeOfDays(const TimeSpan& time, double data_start_s);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_PAST_TIMES_H_
