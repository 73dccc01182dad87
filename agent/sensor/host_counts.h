// What the kernel counts by itself of the events that cost most and cannot be watched part of the
// time: context switches and tasks begun. Tells how busy a host is that is not watched.
//
// The parser is pure. A HostPace belongs to one thread.

#ifndef TELLTALE_AGENT_SENSOR_HOST_COUNTS_H_
#define TELLTALE_AGENT_SENSOR_HOST_COUNTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace telltale::agent {

struct HostCounts {
  uint64_t switches = 0, tasks = 0;  // since boot
};

// Of the text of /proc/stat; nullopt where it does not have both.
std::optional<HostCounts> ParseHostCounts(std::string_view text);
std::optional<HostCounts> ReadHostCounts();

// How fast the counts grow, from readings a second or more apart.
class HostPace {
 public:
  // What was read before says nothing of now.
  void Forget() { *this = HostPace(); }
  // Reads if a second has passed since the last reading.
  void Look(uint64_t mono_ns, const std::function<std::optional<HostCounts>()>& read);

  // False: there are no two readings yet, or the host does not tell.
  bool known() const { return known_; }
  double switches_per_s() const { return switches_per_s_; }
  double tasks_per_s() const { return tasks_per_s_; }

 private:
  std::optional<HostCounts> last_;
  uint64_t last_ns_ = 0;
  bool known_ = false;
  double switches_per_s_ = 0, tasks_per_s_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_HOST_COUNTS_H_
