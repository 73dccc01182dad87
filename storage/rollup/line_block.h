// Line blocks: one vital of up to 256 nodes over the windows of one bucket, in columns, from the
// nodes' window rows. Pure.

#ifndef TELLTALE_STORAGE_ROLLUP_LINE_BLOCK_H_
#define TELLTALE_STORAGE_ROLLUP_LINE_BLOCK_H_

#include <cstdint>
#include <map>
#include <vector>

#include "storage/keys.h"
#include "telltale/v1/store.pb.h"

namespace telltale::storage {

struct LineWindow {
  uint32_t node = 0;          // number
  uint32_t window_index = 0;  // in the bucket
  v1::RollupWindow window;
};

// One block per vital that has data. `windows` of one group and bucket, ascending by (node,
// window_index).
std::map<uint8_t, v1::LineBlock> MakeLineBlocks(const std::vector<LineWindow>& windows);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROLLUP_LINE_BLOCK_H_
