// The perf maps (perf_map.h) of this host's processes: /tmp/perf-PID.map as each process sees it,
// in its own root and by its own pid. Read as they grow, a part at a time, so that no sample waits
// for the whole of a long one.
//
// What a map says reaches the store as names of functions, so one is believed only if it is a
// regular file that belongs to the process's user or to root; a link is not followed, and links on
// the way to it stay inside the process's root. All caches are bounded. One thread.

#ifndef TELLTALE_AGENT_SYMBOLS_PERF_MAPS_H_
#define TELLTALE_AGENT_SYMBOLS_PERF_MAPS_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "agent/symbols/lru_cache.h"
#include "agent/symbols/perf_map.h"
#include "agent/symbols/process_maps.h"
#include "agent/symbols/resolver.h"

namespace telltale::agent {

class PerfMaps {
 public:
  struct Options {
    size_t file_bytes = 16 << 20;  // of one map; what is beyond is not read
    size_t part_bytes = 2 << 20;   // read at a time
    size_t processes = 256;
    size_t bytes = 16 << 20;  // of all maps together
    // A map is looked at again at most this often for an address it does not know, half as often
    // each time there is nothing new in it, or no map at all; and this often for addresses it does
    // know, as the code there may be another one by now.
    uint64_t unknown_ns = 100'000'000;
    uint64_t known_ns = 5'000'000'000;
    PerfMap::Limits map;
  };
  struct Answer {
    // GENERATED; or why there is no name: NO_PERF_MAP, NOT_IN_PERF_MAP, PERF_MAP_REFUSED, LIMIT,
    // GONE, NO_ANSWER.
    v1::NameOutcome outcome = v1::NAME_OUTCOME_UNSPECIFIED;
    std::string_view name;  // valid until the next call
  };

  PerfMaps(const Options& options, std::shared_ptr<ProcessMaps> processes);

  // `now_ns` is the time of the sample (CLOCK_MONOTONIC).
  Answer Find(const ProcessRef& process, uint64_t address, uint64_t now_ns);
  // Why the address asked about last has no name: as Answer::outcome.
  v1::NameOutcome Why(const ProcessRef& process);

 private:
  using Key = std::tuple<uint32_t, uint64_t, uint64_t>;  // pid, start, inode of the executable
  struct Known {
    PerfMap map;
    uint64_t device = 0, inode = 0;  // of the file
    uint64_t read_bytes = 0;         // of it so far
    std::string tail;                // what was read last, to know the file again by
    uint64_t looked_ns = 0;
    uint64_t wait_ns = 0;  // until it is looked at for an address it does not know
    bool cut = false;      // the file is longer than what is read of it
    v1::NameOutcome why = v1::NAME_OUTCOME_NO_PERF_MAP;
  };

  static Key KeyOf(const ProcessRef& process);
  size_t CostOf(const Known& known) const;
  void Look(const ProcessRef& process, Known& known);
  // Whether the file is what was read so far and perhaps more. Some write theirs anew in place, and
  // longer than it was.
  static bool IsContinued(int fd, const struct stat& info, const Known& known);
  // The file, if it may be believed; else -1, and *why says why.
  int Open(const ProcessRef& process, v1::NameOutcome* why) const;
  void ReadOn(int fd, uint64_t file_bytes, Known& known) const;

  const Options options_;
  const std::shared_ptr<ProcessMaps> processes_;
  LruCache<Key, std::unique_ptr<Known>> maps_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_PERF_MAPS_H_
