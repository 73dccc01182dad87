#include "collector/query/points.h"

#include <algorithm>

namespace telltale::query {

void AddExtremes(double least, double most, Point& sum) {
  sum.bounds |= sum.max > sum.min && most > least;
  sum.min += least;
  sum.max += most;
}

std::vector<Point> Reduce(std::vector<Point> points, size_t limit) {
  if (points.size() <= limit) return points;
  const size_t group = (points.size() + limit - 1) / limit;
  std::vector<Point> reduced;
  reduced.reserve(points.size() / group + 1);
  for (size_t begin = 0; begin < points.size(); begin += group) {
    Point sum = points[begin];
    for (size_t i = begin + 1; i < std::min(begin + group, points.size()); ++i) {
      const Point& next = points[i];
      sum.length_s = next.start_s + next.length_s - sum.start_s;
      sum.watched_s += next.watched_s;
      sum.weight += next.weight;
      sum.events += next.events;
      sum.low += next.low;
      sum.high += next.high;
      sum.min = std::min(sum.min, next.min);
      sum.max = std::max(sum.max, next.max);
      sum.bounds |= next.bounds;
      sum.backlog = std::max(sum.backlog, next.backlog);
    }
    reduced.push_back(sum);
  }
  return reduced;
}

void WritePoints(const std::vector<Point>& points, Columns columns, v1::Series* series) {
  const bool bounds =
      std::any_of(points.begin(), points.end(), [](const Point& p) { return p.bounds; });
  for (const Point& point : points) {
    const double watched = point.watched_s > 0 ? point.watched_s : point.length_s;
    const auto rate = [watched](double weight) { return watched > 0 ? weight / watched : 0; };
    series->add_start_s(point.start_s);
    series->add_length_s(point.length_s);
    series->add_rate(rate(point.weight));
    if (columns == Columns::kProcess) {
      series->add_low(rate(point.low));
      series->add_high(rate(point.high));
    } else {
      series->add_events(rate(point.events));
    }
    series->add_min(point.min);
    series->add_max(point.max);
    if (bounds) series->add_bounds(point.bounds);
    series->add_watched(point.length_s > 0 ? std::min(1.0, point.watched_s / point.length_s) : 0);
    if (columns == Columns::kBacklog) series->add_backlog(point.backlog);
  }
}

}  // namespace telltale::query
