// What every line block must hold, worked out from the windows of all nodes the plain way: window
// by window into a table, column by column out of it. No code shared with the store but the keys.

#ifndef TELLTALE_TESTS_SUPPORT_LINE_ORACLE_H_
#define TELLTALE_TESTS_SUPPORT_LINE_ORACLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "storage/keys.h"
#include "telltale/v1/store.pb.h"

namespace telltale::testing {

class LineOracle {
 public:
  // Any order. `start_ns`: of the window, on the grid of its tier.
  void Add(storage::Tier tier, uint32_t node, uint64_t start_ns, const v1::RollupWindow& window);

  // Every row of `line` there must be: encoded key, block. Ascending by key.
  std::map<std::string, v1::LineBlock> Blocks() const;

 private:
  struct Entry {
    uint64_t watched_ms = 0;
    std::vector<v1::SubTotals> subs;
  };
  using Block = std::tuple<storage::Tier, uint8_t, uint64_t, uint32_t>;  // vital, bucket, group
  using Place = std::pair<uint32_t, uint32_t>;  // node in the group, window in the bucket

  std::map<Block, std::map<Place, Entry>> blocks_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_LINE_ORACLE_H_
