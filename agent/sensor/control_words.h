// Fills the control words that the kernel programs read (struct telltale_control in
// sketch/layout.h): knobs of each vital, the class of each system call's wait, what kind of host
// this is. Pure functions of their arguments and of /proc and /sys; called once by the sensor.

#ifndef TELLTALE_AGENT_SENSOR_CONTROL_WORDS_H_
#define TELLTALE_AGENT_SENSOR_CONTROL_WORDS_H_

#include <cstdint>

#include "sketch/layout.h"

namespace telltale::agent {

// Sampling budget of the host, shared over vitals and CPUs. Not a hard limit: a vital may take more
// than its even share (InitControl), and each epoch begins with full buckets.
struct SampleBudget {
  uint32_t per_second = 100;  // aim of the long-run mean of all vitals
  uint32_t burst = 1000;
};

// The kernel's quantum is a power of two, a shift an event instead of two divisions: the log2 of
// the one nearest to `quantum` (by ratio). quantum >= 1.
uint8_t QuantumLog2(uint64_t quantum);

// In telltale_control::cgroup_subsys: cgroups are those of the one hierarchy of version 2.
inline constexpr uint32_t kUnifiedCgroups = 0xffffffff;

// Everything that stays the same while the sensor runs, and the first epoch's knobs (t = 2).
void InitControl(const SampleBudget& budget, uint32_t possible_cpus, uint32_t online_cpus,
                 telltale_control& control);

// Sets from which weight on a label of a dense vital is heavy: a quarter of the mean load of a
// CPU's cells, with a weight of `total` on all online CPUs.
void SetHeavy(telltale_control& control, unsigned vital, uint64_t total, uint32_t online_cpus);

// Sets how large the control group of a dense vital is in the next epoch of that half: 1/2^k of all
// labels, by what an epoch like it had. So few that the table has room (half of it is free) and
// that an event hardly ever is one of it: up to 4,000 a second, and from 1/64 on whatever comes.
void SetGroup(telltale_control& control, uint32_t half, unsigned vital, uint64_t events_per_s,
              uint64_t labels);

// Sets t = 2^t_log2 of a dense vital; 1 <= t_log2 <= 16.
void SetTLog2(telltale_control& control, unsigned vital, uint8_t t_log2);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_CONTROL_WORDS_H_
