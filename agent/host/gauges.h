// Levels of the whole host at the cut (memory, load, processor split, pressure, the agent's own
// use), as /proc tells them.
//
// A GaugeReader keeps the previous readings of what /proc only counts up; it belongs to the sensor
// thread. The parsers are pure: text in, fields set; what they do not understand leaves fields as
// they are. All sums saturate.

#ifndef TELLTALE_AGENT_HOST_GAUGES_H_
#define TELLTALE_AGENT_HOST_GAUGES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

// /proc/meminfo: total, free, available, page cache, swap.
void ParseMeminfo(std::string_view text, v1::Gauges* gauges);

// /proc/buddyinfo: free blocks by page order, added over zones and nodes; at most 32 orders.
void ParseBuddyinfo(std::string_view text, v1::Gauges* gauges);

// /proc/loadavg: three averages x 100, tasks running and existing.
void ParseLoadavg(std::string_view text, v1::Gauges* gauges);

// /proc/stat: time since boot in ticks: user, nice, system, idle, iowait, irq, softirq, steal
// (guest time is part of user). Also counts the processors that are online.
struct CpuTicks {
  std::array<uint64_t, 8> ticks{};
  uint32_t cpus_online = 0;
};
CpuTicks ParseStat(std::string_view text);

// One file of /proc/pressure: microseconds stalled since boot {some, full}.
std::array<uint64_t, 2> ParsePressure(std::string_view text);

// /proc/PID/stat: processor ticks (user and system) and resident pages of one process.
struct ProcessUse {
  uint64_t ticks = 0, rss_pages = 0;
};
ProcessUse ParseProcessStat(std::string_view text);

class GaugeReader {
 public:
  struct Options {
    std::string root;  // where proc is: empty for "/", or a test's directory
    // The processes of the agent as they are now; one may be replaced while it runs. Empty: none.
    std::function<std::vector<uint32_t>()> agent_pids;
    uint64_t clock_ticks = 100;  // per second (USER_HZ)
    uint64_t page_size = 4096;
  };

  // Takes the first readings: what Read reports as "in this epoch" begins here.
  explicit GaugeReader(Options options);

  // The gauges of the epoch since the last Read. Files that cannot be read leave their fields 0 or
  // empty. The sensor's and spool's fields are not set here.
  v1::Gauges Read();

 private:
  struct Counters {
    CpuTicks cpu;
    std::array<uint64_t, 6> psi_us{};
    bool has_psi = false;
    std::map<uint32_t, ProcessUse> agent;  // by pid
  };
  std::string Text(const std::string& path) const;
  Counters ReadCounters() const;

  const Options options_;
  Counters last_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_HOST_GAUGES_H_
