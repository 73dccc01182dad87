// Points of one line of a graph, and how they become few enough to send.
//
// Values and pure functions; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_POINTS_H_
#define TELLTALE_COLLECTOR_QUERY_POINTS_H_

#include <cstdint>
#include <vector>

#include "telltale/v1/query.pb.h"

namespace telltale::query {

// One stretch of time. Weights in base units; min and max are of per-second weights, base units per
// second.
struct Point {
  double start_s = 0;
  double length_s = 0;
  double watched_s = 0;
  double weight = 0;
  double events = 0;
  double min = 0;
  double max = 0;
  double backlog = 0;   // largest begun-minus-ended of the stretch
  double low = 0;       // of one process: its weight lies between; base units
  double high = 0;
  bool bounds = false;  // min and max are no seconds that were, but no second lay beyond them
};

// Adds a part whose seconds lie between `least` and `most` to a sum of parts. Where both vary, the
// lightest of one need not be that of the other: what is left are bounds.
void AddExtremes(double least, double most, Point& sum);

enum class Columns { kUsual, kBacklog, kProcess };

// At most `limit` points: neighbours become one. Weight with what it lies between, events and
// watched time add up, min, max and backlog keep the extremes, so that no spike disappears and no
// sum changes. Points must ascend and not overlap. limit >= 1.
std::vector<Point> Reduce(std::vector<Point> points, size_t limit);

// The columns of a series; rates and events are over the time watched.
void WritePoints(const std::vector<Point>& points, Columns columns, v1::Series* series);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_POINTS_H_
