// Series of many vitals and nodes, each held against its own past, and which of them were unusual.
//
// Belongs to one answer and its thread.

#ifndef TELLTALE_COLLECTOR_QUERY_JUDGED_LINES_H_
#define TELLTALE_COLLECTOR_QUERY_JUDGED_LINES_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "collector/query/usual.h"
#include "collector/query/vital_choice.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

class JudgedLines {
 public:
  explicit JudgedLines(const VitalBook& book);

  // Points of the time in question, of nodes one by one.
  void AddNow(const v1::SeriesAnswer& answer);
  // Points of the past; how many.
  uint32_t AddPast(const v1::SeriesAnswer& answer);
  // Median number of points in the past of a line.
  size_t PastPoints() const;

  // Of each node and vital the farthest of its headline and its sub-series, most unusual first (see
  // order in the source); without who and where.
  std::vector<v1::Finding> Findings() const;
  // Farthest first, at most this many; nodes without anything unusual are none of them.
  std::vector<std::string> FarthestNodes(size_t most) const;

  uint32_t lines() const { return static_cast<uint32_t>(lines_.size()); }
  uint32_t unjudged() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // node, vital, sub
  struct Line {
    std::string unit;
    std::vector<Moment> now;
    std::vector<double> past;
  };
  double FloorOf(const std::string& vital) const;
  double SizeOf(const v1::Finding& finding) const;
  bool Before(const v1::Finding& a, const v1::Finding& b) const;

  std::map<std::string, double> quanta_;   // base units, by vital
  std::map<std::string, double> matters_;  // base units per second, by vital
  std::map<Key, Line> lines_;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_JUDGED_LINES_H_
