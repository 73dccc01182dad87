// What a sample copies of a running thread's user side, and who makes a stack of it. The sensor
// hands each copy over as it is drained and forgets it: stack bytes may hold secrets, so they are
// neither kept nor passed on.

#ifndef TELLTALE_AGENT_SENSOR_USER_UNWINDER_H_
#define TELLTALE_AGENT_SENSOR_USER_UNWINDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "agent/sensor/sensor.h"

namespace telltale::agent {

struct UserCopy {
  std::array<uint64_t, 17> registers{};  // DWARF's numbers: 7 is the stack pointer, 16 the place
  uint64_t stack_address = 0;            // of the first byte of `stack`
  std::span<const char> stack;

  // The 8 bytes at a user address; false: they were not copied.
  bool Read(uint64_t address, uint64_t* value) const {
    const uint64_t at = address - stack_address;
    if (address < stack_address || stack.size() < sizeof(*value) ||
        at > stack.size() - sizeof(*value)) {
      return false;
    }
    memcpy(value, stack.data() + at, sizeof(*value));
    return true;
  }
};

// What code a process had mapped when it ended or became another program.
struct RawDeparture {
  struct Region {  // executable
    uint64_t start = 0, end = 0;
    uint64_t file_offset = 0;        // of start
    uint64_t device = 0, inode = 0;  // 0: no file
    bool vdso = false;
  };
  uint32_t tgid = 0;
  uint64_t start_ns = 0;
  ExeId exe;
  uint64_t mono_ns = 0;         // what it does later it does as something else
  std::vector<Region> regions;  // ascending; none: the kernel could not look
  bool cut = false;             // it had more, at higher addresses
};

// Owned by the sensor, called by its thread only.
class UserUnwinder {
 public:
  virtual ~UserUnwinder() = default;

  // Fills sample.stack.user and user_end from a copy made for this sample.
  virtual void Unwind(const UserCopy& copy, RawSample& sample) = 0;

  // Told before the copies of that process are, if the kernel can tell.
  virtual void OnDeparture(const RawDeparture& departure) = 0;

  // CPU ns since the last call that went to what is done once for a file: its table.
  virtual uint64_t TakeTableNs() = 0;

  // What it did in the epoch, which has ended.
  virtual RawUnwinding EndEpoch() = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_USER_UNWINDER_H_
