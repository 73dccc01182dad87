// What is usual of a series, and the while in which it was farthest from that.
//
// Usual is the median of the past, an usual deviation 1.4826 times the median distance from it,
// which for normal figures is their standard deviation and of which half the past may be an outlier
// (Hampel, "The influence curve and its role in robust estimation", 1974). A while is unusual when
// it is kUnusual deviations away and at most one in a hundred epochs of the past was as far, so
// that a series which often jumps is not called unusual for jumping.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_USUAL_H_
#define TELLTALE_COLLECTOR_QUERY_USUAL_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace telltale::query {

inline constexpr double kUnusual = 5;            // deviations
inline constexpr size_t kLeastPast = 8;          // epochs, below which nothing is said
inline constexpr double kRelativeFloor = 0.1;    // of the median: a deviation is never less
inline constexpr double kMostAsFarShare = 0.01;  // of the past

struct Usual {
  double median = 0;
  double deviation = 0;
  double low = 0, high = 0;       // 5 and 95 of 100 are below
  std::vector<double> distances;  // from the median, ascending
};

// `floor`: a deviation is never less, in the unit of the rates; > 0. nullopt: fewer than
// kLeastPast.
std::optional<Usual> UsualOf(std::vector<double> rates, double floor);

struct Moment {
  double start_s = 0, length_s = 0;
  double rate = 0;  // per second
};

struct UnusualWhile {
  double start_s = 0, end_s = 0;
  double rate = 0;      // mean over it
  double peak = 0;      // rate of the farthest moment
  double severity = 0;  // of the peak, in deviations; below 0: less than usual
  size_t as_far = 0;    // epochs of the past that were
};

// The farthest moment and what is unusual in the same direction beside it; one usual moment between
// two does not end it. Moments ascend. nullopt: nothing is unusual.
std::optional<UnusualWhile> FarthestWhile(const std::vector<Moment>& moments, const Usual& usual);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_USUAL_H_
