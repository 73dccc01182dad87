// On what terms a process gets CPU time, as the kernel says at the cut: its scheduling policy, and
// the CPU limit (quota) of its cgroup, or of one above it, that held it in the epoch.
//
// Limits are told by cpu.stat of the cgroup, version 2, or version 1's controller `cpu`, whose
// cgroup may be another than that of memory. It only counts up, so what a cgroup is said to have
// done in an epoch is known from the second epoch on in which it was asked about.
//
// Belongs to the sensor thread. Two small files are read for each process, and one for each cgroup
// above it, once an epoch; all is bounded.

#ifndef TELLTALE_AGENT_HOST_PROCESS_TERMS_H_
#define TELLTALE_AGENT_HOST_PROCESS_TERMS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace telltale::agent {

// Since the cgroup was made.
struct CpuLimitCounts {
  uint64_t periods = 0;  // in which it was throttled
  uint64_t ns = 0;       // of all CPUs together
};

// cpu.stat. nullopt: the cgroup has no limit that is counted.
std::optional<CpuLimitCounts> ParseCpuStat(std::string_view text);

// Where the hierarchy is mounted that limits CPU time, by /proc/self/mountinfo.
struct CpuHierarchy {
  std::string mount;  // empty: nowhere
  bool unified = false;
};
CpuHierarchy ParseCpuHierarchy(std::string_view mountinfo);

// The cgroup of /proc/PID/cgroup in it; empty: none.
std::string CpuCgroupOf(std::string_view cgroup, bool unified);

struct ProcessTerms {
  uint32_t policy = 0;              // SCHED_*
  uint32_t real_time_priority = 0;  // 0: none
  // The cgroup that was throttled longest in the epoch, if any was.
  std::string cgroup;
  CpuLimitCounts throttled;
};

class ProcessTermsReader {
 public:
  // `root`: where proc and sys are; empty for "/", or a test's directory.
  explicit ProcessTermsReader(std::string root);

  ProcessTerms Of(uint32_t pid);
  // What was not asked about since the last call is forgotten, the rest is the next epoch's begin.
  void EndEpoch();

 private:
  struct Cgroup {
    CpuLimitCounts begin, now;
    bool known = false;  // `begin` is of the end of the epoch before
    bool asked = false;
  };
  const Cgroup* Ask(const std::string& path);

  const std::string root_;
  const CpuHierarchy hierarchy_;
  std::map<std::string, Cgroup> cgroups_;  // by path
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_HOST_PROCESS_TERMS_H_
