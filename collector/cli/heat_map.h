// Nodes x time as lines of block characters, the heaviest first: where and when a vital was high,
// for as many nodes as fit a terminal.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_HEAT_MAP_H_
#define TELLTALE_COLLECTOR_CLI_HEAT_MAP_H_

#include <cstddef>
#include <string>

#include "collector/cli/render.h"

namespace telltale::cli {

// Of an answer per node of one vital. Each cell is the highest point in it, as a share of the
// highest of all; what nobody watched is a dot, what was watched and nothing is blank. `rows`:
// nodes at most; the rest is said to be below.
std::string RenderHeat(const v1::SeriesAnswer& answer, const v1::Selection& asked, size_t rows,
                       const View& view);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_HEAT_MAP_H_
