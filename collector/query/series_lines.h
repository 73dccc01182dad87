// Lines of a series answer under construction: each choice of vital, per node or summed, as points
// of one grid.
//
// Nodes cut their epochs aligned to the collector's clock, so epochs of different nodes fall into
// the same slots of the grid; a sum over nodes adds what each node counted per second watched. One
// thread.

#ifndef TELLTALE_COLLECTOR_QUERY_SERIES_LINES_H_
#define TELLTALE_COLLECTOR_QUERY_SERIES_LINES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/query/coverage_builder.h"
#include "collector/query/points.h"
#include "collector/query/source.h"
#include "collector/query/stretches.h"
#include "collector/query/vital_choice.h"

namespace telltale::query {

class SeriesLines {
 public:
  struct Options {
    bool per_node = false;
    bool per_second = false;
    bool backlog = false;
    bool process = false;  // points are of one process
    double slot_s = 0;     // width of the grid a sum over nodes uses; 0: each epoch its own point
  };
  // 240 MB; three weeks of one vital's seconds are 1.8 million.
  static constexpr size_t kMaxPointsHeld = 2'500'000;

  SeriesLines(std::vector<VitalChoice> choices, const Options& options);

  void AddEpoch(const StoredEpoch& epoch);
  // The epochs of a series block that belong to [from, to); says which to the coverage.
  void AddBlock(const storage::SeriesKey& key, const v1::SeriesBlock& block, uint64_t from_ns,
                uint64_t to_ns, CoverageBuilder& coverage);
  // Entries of a line block for windows in [from, to) that lie in a node's `wanted` time; returns
  // how many windows of each. nullopt: the block's columns do not fit each other.
  std::optional<std::map<uint32_t, uint32_t>> AddLine(const storage::LineKey& key,
                                                      const v1::LineBlock& block, uint64_t from_ns,
                                                      uint64_t to_ns,
                                                      const std::map<uint32_t, Stretches>& wanted);
  void AddWindow(const storage::RollupRow& row);
  // One stretch of one node, in base units.
  void AddPoint(size_t choice, uint32_t node, const Point& point);
  // Whether any line is a sum of sub-series.
  bool AddsSubs() const;
  const std::vector<VitalChoice>& choices() const { return choices_; }

  bool empty() const { return lines_.empty(); }
  // More would take too much memory: whoever reads on stops.
  bool full() const { return points_held_ > kMaxPointsHeld; }
  // Writes every line, reduced to `limit` points, ordered by vital, sub-series, node.
  void Write(const std::map<uint32_t, std::string>& node_names, size_t limit,
             v1::SeriesAnswer* answer) const;

 private:
  // A slot of a sum over nodes.
  struct SlotSum {
    Point point;
    double watched_share = 0;  // of its nodes, added up
    size_t nodes = 0;
  };
  struct Slot {
    // Of nodes of which one window is the whole slot: nothing comes to their part, so it need not
    // be kept. A month of a thousand nodes is 720,000 windows.
    SlotSum whole;
    std::vector<std::pair<uint32_t, Point>> by_node;  // the others' parts, ascending by node
  };
  struct Line {
    std::vector<std::pair<int64_t, Point>> points;           // ascending by start in ms
    std::map<int64_t, Slot> slots;                           // sums only
    std::map<int64_t, Slot>::iterator latest = slots.end();  // asked for last
  };
  Line& LineOf(size_t choice, uint32_t node);
  static Slot& SlotOf(Line& line, int64_t at);
  void AddPart(const Point& part, SlotSum& sum) const;
  // Totals of one stretch of one node, weights in stored units.
  void AddTotals(size_t choice, uint32_t node, const Point& stored_units);
  void AddSeconds(size_t choice, const StoredEpoch& epoch, const v1::Vital& vital);

  const std::vector<VitalChoice> choices_;
  const Options options_;
  size_t points_held_ = 0;
  std::map<std::pair<size_t, uint32_t>, Line> lines_;  // (choice, node or 0)
  std::pair<size_t, uint32_t> latest_;                 // asked for last; points come line by line
  Line* latest_line_ = nullptr;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SERIES_LINES_H_
