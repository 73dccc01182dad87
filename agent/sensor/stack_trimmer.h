// Takes off a kernel stack what our own measuring put on top of it: the program's frames and the
// tracepoint's call to it, and for a timer tick the interrupt's entry, so that the first frame is
// the kernel code that the event is about. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_SENSOR_STACK_TRIMMER_H_
#define TELLTALE_AGENT_SENSOR_STACK_TRIMMER_H_

#include <cstdint>
#include <istream>
#include <utility>
#include <vector>

#include "agent/sensor/sensor.h"

namespace telltale::agent {

class StackTrimmer {
 public:
  // Reads the addresses of the tracepoint machinery from `symbols` (/proc/kallsyms). Without
  // readable addresses stacks stay as they are.
  void Load(std::istream& symbols);

  void Trim(RawSample& sample) const;

 private:
  bool IsMachinery(uint64_t address) const;
  // How many frames on top are machinery.
  size_t Depth(const std::vector<uint64_t>& frames) const;

  std::vector<std::pair<uint64_t, uint64_t>> ranges_;  // [begin, end), ascending
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_STACK_TRIMMER_H_
