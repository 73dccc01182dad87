// Statistics that a few wild values do not move, each with its source. Pure.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_ROBUST_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_ROBUST_H_

#include <vector>

namespace telltale::filter {

// Of an even number of values the mean of the middle two; 0 of none.
double Median(std::vector<double> values);

// 1.4826 times the median distance from the median: of normal values their standard deviation
// (Hampel, J. Am. Stat. Assoc. 69, 1974).
double MadScale(const std::vector<double>& values);

struct Trend {
  double slope = 0;  // of y per x: the median of the slopes of all pairs (Theil 1950, Sen 1968)
  double p = 1;      // that a trend at least so strong comes by chance, one-sided for a rise
};
// Mann-Kendall's test with ties and continuity correction (Kendall, Rank Correlation Methods,
// 1975). x strictly ascending, of y's length. Fewer than 3 points: no trend.
Trend TheilSen(const std::vector<double>& x, const std::vector<double>& y);

// P(X >= hits) for X ~ Binomial(trials, share).
double BinomialTail(int trials, int hits, double share);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_ROBUST_H_
