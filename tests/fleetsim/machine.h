// What the run cost: CPU time and memory of the collector and of the simulator apart, how busy the
// machine was, and how long its disk takes to make a write durable. Any thread.

#ifndef TELLTALE_TESTS_FLEETSIM_MACHINE_H_
#define TELLTALE_TESTS_FLEETSIM_MACHINE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace telltale::fleetsim {

// CPU times so far; from /proc.
struct CpuReading {
  uint64_t mono_ns = 0;
  double collector_s = 0, own_s = 0, machine_s = 0;  // machine: all that was not idle
};
// `collector`: 0: unknown, its time stays 0.
CpuReading ReadCpu(int collector);

struct CpuUse {
  double seconds = 0;                          // of wall time
  double collector = 0, own = 0, machine = 0;  // cores
  // Of the machine both sides used.
  double share() const;
};
CpuUse Between(const CpuReading& begin, const CpuReading& end);

// Kilobytes now and at most so far; 0: no such process.
struct Resident {
  uint64_t now_kb = 0, most_kb = 0;
};
Resident ReadResident(int pid);

// Writes 4 KB to a file and waits until it is durable, twice a second, while it lives.
class FsyncProbe {
 public:
  explicit FsyncProbe(const std::string& directory);
  ~FsyncProbe();
  // Microseconds, of the writes so far. Ends the probe.
  std::vector<uint32_t> Take();

 private:
  void Run();

  const std::string path_;
  std::atomic<bool> stopping_ = false;
  std::vector<uint32_t> took_us_;
  std::thread thread_;
};

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_MACHINE_H_
