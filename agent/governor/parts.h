// The parts that the agent's cost consists of, and how far each can be turned down. The numbers
// travel in summaries (telltale.v1.SensorPart), so they stay as they are. Constant data.

#ifndef TELLTALE_AGENT_GOVERNOR_PARTS_H_
#define TELLTALE_AGENT_GOVERNOR_PARTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace telltale::agent {

enum class Part : uint8_t {
  kSyscall = 0,  // programs that can be attached part of the time
  kFault,
  kPages,
  kSocket,
  kSignal,
  kLock,
  kSoftirq,
  kSwitch,     // the programs of the context switch
  kSamples,    // keeping events whole: in the kernel, and in the agent
  kUnwinding,  // user stacks of samples
  kRest,       // all else: other programs, reading and sending epochs
  kTasks,      // the lives of tasks: their storage and last row
  kDisk,       // counting disk requests
};
inline constexpr size_t kParts = 13;

template <typename T>
using PerPart = std::array<T, kParts>;

// Name in metrics, logs and `telltale-agent status`.
std::string_view PartName(Part part);

// The steps of a part: 0 does all, `MaxLevel` least.
//   programs    attached 1/2^level of the time
//   disk        counting 1/2^level of the time; its programs stay, since what is in flight is exact
//   switch      1: no stacks, 2: counting only
//   samples     1..4: tokens / 2^level; beyond: t not below 4, 8
//   unwinding   1: of 4 KB, 2: kernel stacks only
//   rest        none
//   tasks       1: only of those that have run for kLeastRunNs
uint8_t MaxLevel(Part part);
inline constexpr uint8_t kSwitchNoStacks = 1, kSwitchCount = 2;
inline constexpr uint32_t kLeastRunNs = 4'000'000;
inline constexpr uint8_t kUnwindShort = 1, kUnwindNone = 2;
inline constexpr uint32_t kShortStack = 4096;  // bytes copied of one at kUnwindShort
inline constexpr uint8_t kTokenLevels = 4;

// Watched a part of the time.
constexpr bool IsCycled(Part part) { return part < Part::kSwitch || part == Part::kDisk; }
// Its programs alone make the cost of it.
constexpr bool IsInKernel(Part part) {
  return IsCycled(part) || part == Part::kSwitch || part == Part::kTasks;
}
constexpr size_t Index(Part part) { return static_cast<size_t>(part); }

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_GOVERNOR_PARTS_H_
