// What one event of each part costs in the kernel, on this machine. Constant data, and one factor
// that is measured at the start.

#ifndef TELLTALE_AGENT_GOVERNOR_COST_MODEL_H_
#define TELLTALE_AGENT_GOVERNOR_COST_MODEL_H_

#include <cstdint>
#include <functional>

#include "agent/governor/parts.h"

namespace telltale::agent {

// ns an event with its dispatch, inside a busy program (caches cold), on the machine the table was
// measured on: run statistics of the programs less their own cost, 2 CPUs of an AMD EPYC, kernel
// 6.18. kSwitch: with its three programs; kSamples: a sample with kernel stack and user copy;
// kTasks: storage and last row of a task, 4 us, and reading that row. kDisk: the mean of issue and
// end of a request, of 9,000 a second, with a part of the interrupt that tells of it.
inline constexpr PerPart<double> kEventNs = {95,  110,  140, 140, 150,  200, 110,
                                             500, 4000, 0,   0,   5000, 700};

// What kEventNs[kSyscall] is in a tight loop there: the loop that MachineFactor runs.
inline constexpr double kLoopSyscallNs = 92;

// How much slower this machine runs a program than that one: the least of several differences
// between system calls with and without the program, over kLoopSyscallNs; 1 to 6. Not less: a
// machine that is quicker in the loop is not where caches are cold. (An Intel Xeon of 0.6: in a g++
// build a system call took 90 ns, a fault 137, a page 146, as on the machine of the table.)
// `attach` and `detach` switch the program. Takes about 10 ms.
double MachineFactor(const std::function<bool()>& attach, const std::function<void()>& detach);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_GOVERNOR_COST_MODEL_H_
