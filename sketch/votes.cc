#include "sketch/votes.h"

#include <algorithm>

#include "sketch/saturating.h"

namespace telltale::sketch {

Place PlaceOf(uint64_t hash, uint32_t columns) {
  return {Column(hash, columns), static_cast<uint16_t>(hash & TELLTALE_MARK_MASK)};
}

uint64_t VotedCells::MarginAt(const Place& place) const {
  const auto it = std::ranges::lower_bound(leads, place, {}, &Lead::place);
  return it != leads.end() && it->place == place ? it->margin : 0;
}

uint64_t VotedCells::GreatestMargin(uint32_t cell) const {
  uint64_t greatest = 0;
  for (auto it = std::ranges::lower_bound(leads, Place{cell, 0}, {}, &Lead::place);
       it != leads.end() && it->place.cell == cell; ++it) {
    greatest = std::max(greatest, it->margin);
  }
  return greatest;
}

uint64_t VotedCells::Sum() const {
  uint64_t sum = 0;
  for (const uint64_t weight : total) sum = SaturatingAdd(sum, weight);
  return sum;
}

VotedCells AddUp(std::span<const std::span<const telltale_slot>> rows) {
  VotedCells cells;
  if (rows.empty()) return cells;
  cells.total.assign(rows.front().size(), 0);
  cells.contested.assign(rows.front().size(), 0);
  for (const std::span<const telltale_slot> row : rows) {
    for (uint32_t cell = 0; cell < row.size(); ++cell) {
      const telltale_slot& slot = row[cell];
      const uint64_t margin = std::min(telltale_margin(slot.lead), slot.total);
      cells.total[cell] = SaturatingAdd(cells.total[cell], slot.total);
      // Odd only if an add was lost: rounded up, so that high stays above.
      const uint64_t cancelled = slot.total - margin;
      cells.contested[cell] = SaturatingAdd(cells.contested[cell], cancelled / 2 + (cancelled & 1));
      if (margin == 0) continue;
      const auto mark = static_cast<uint16_t>(slot.lead & TELLTALE_MARK_MASK);
      cells.leads.push_back({{cell, mark}, margin});
    }
  }
  std::ranges::sort(cells.leads, {}, &Lead::place);
  size_t last = 0;
  for (size_t i = 1; i < cells.leads.size(); ++i) {
    if (cells.leads[i].place == cells.leads[last].place) {
      cells.leads[last].margin = SaturatingAdd(cells.leads[last].margin, cells.leads[i].margin);
    } else {
      cells.leads[++last] = cells.leads[i];
    }
  }
  if (!cells.leads.empty()) cells.leads.resize(last + 1);
  return cells;
}

std::vector<uint64_t> Competing(const VotedCells& cells) {
  std::vector<uint64_t> competing(cells.columns());
  for (uint32_t cell = 0; cell < cells.columns(); ++cell) {
    const uint64_t contested = cells.contested[cell];
    const bool filled = cells.GreatestMargin(cell) >= cells.total[cell] / 4;
    competing[cell] = filled ? contested : SaturatingAdd(contested, contested / 2);
  }
  return competing;
}

Interval Estimate(const VotedCells& cells, std::span<const Place> places, uint64_t proved) {
  Interval found;
  for (size_t i = 0; i < places.size(); ++i) {
    found.low = SaturatingAdd(found.low, cells.MarginAt(places[i]));
    if (i > 0 && places[i].cell == places[i - 1].cell) continue;
    found.high = SaturatingAdd(found.high, cells.contested[places[i].cell]);
  }
  found.high = SaturatingAdd(found.high, found.low);
  found.low = std::max(found.low, proved);
  found.high = std::max(found.high, found.low);
  return found;
}

uint64_t UnlistedHigh(const VotedCells& cells, std::span<const Place> listed) {
  uint64_t high = 0;
  for (const uint64_t contested : cells.contested) high = std::max(high, contested);
  for (const Lead& lead : cells.leads) {
    if (std::ranges::binary_search(listed, lead.place)) continue;
    high = std::max(high, SaturatingAdd(cells.contested[lead.place.cell], lead.margin));
  }
  return high;
}

}  // namespace telltale::sketch
