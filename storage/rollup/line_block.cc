#include "storage/rollup/line_block.h"

#include <algorithm>

namespace telltale::storage {
namespace {

struct Entry {
  const LineWindow* window = nullptr;
  const v1::VitalTotals* totals = nullptr;
};

}  // namespace

std::map<uint8_t, v1::LineBlock> MakeLineBlocks(const std::vector<LineWindow>& windows) {
  std::map<uint8_t, std::vector<Entry>> vitals;
  for (const LineWindow& window : windows) {
    for (const v1::VitalTotals& totals : window.window.vitals()) {
      if (totals.id() == 0 || totals.id() > UINT8_MAX || totals.subs().empty()) continue;
      vitals[static_cast<uint8_t>(totals.id())].push_back({&window, &totals});
    }
  }
  std::map<uint8_t, v1::LineBlock> blocks;
  for (const auto& [id, entries] : vitals) {
    v1::LineBlock& block = blocks[id];
    int subs = 0;
    for (const Entry& entry : entries) {
      subs = std::max(subs, entry.totals->subs_size());
      const uint32_t in_group = entry.window->node % kLineGroupNodes;
      if (block.node().empty() || *block.node().rbegin() != in_group) {
        block.add_node(in_group);
        block.add_windows(0);
      }
      block.set_windows(block.windows_size() - 1, *block.windows().rbegin() + 1);
      block.add_window(entry.window->window_index);
      block.add_watched_ms(entry.window->window.watched_ns() / 1'000'000);
    }
    block.set_subs(static_cast<uint32_t>(subs));
    for (int sub = 0; sub < subs; ++sub) {
      for (const Entry& entry : entries) {
        static const v1::SubTotals kNothing;
        const v1::SubTotals& totals =
            sub < entry.totals->subs_size() ? entry.totals->subs(sub) : kNothing;
        block.add_events(totals.events());
        block.add_weight(totals.weight());
        block.add_second_min(totals.second_min());
        block.add_second_max(totals.second_max());
      }
    }
  }
  return blocks;
}

}  // namespace telltale::storage
