// What `telltale live` shows at one moment, as lines that fit the screen.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_LIVE_SCREEN_H_
#define TELLTALE_COLLECTOR_CLI_LIVE_SCREEN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/cli/render.h"

namespace telltale::cli {

struct LiveState {
  std::string who;                  // "db-1", "all nodes"; as it came
  std::vector<std::string> vitals;  // names, in the order of the tabs
  size_t chosen = 0;                // index into vitals
  v1::TopAnswer answer;             // by process and by site, of the chosen vital
  std::string error;                // why there is no newer one; empty: there is
  bool asking = false;              // for the first time: nothing is known yet
  // What the collector tells by itself.
  bool told = false;           // epochs show as they come
  std::string untold;          // why not, or why there are no seconds; empty: all is well
  uint32_t asked_every_s = 0;  // while epochs are not told
  std::optional<double> now;   // the chosen vital in the last second, in its base unit per second
  bool unseen = false;         // there was such a second, in which nobody looked at the vital
  size_t scrolled = 0;         // rows of the tables above the screen
  bool held = false;           // asks no more for now
  double length_s = 60;
};

// At most `rows` lines, none wider than `columns`, without '\n' at the end.
std::string LiveScreen(const LiveState& state, size_t columns, size_t rows, const View& view);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_LIVE_SCREEN_H_
