// One group of kernel programs that is loaded and attached on its own, so that a kernel which
// refuses it costs only its vitals. All groups share the maps of bpf/maps.bpf.h: the first group
// that names a map creates it, the others are handed its descriptor.
//
// Why several small objects and not one with programs switched off: loading is all or nothing per
// object, and libbpf's own probes are wrong on new kernels; so each group is simply tried, by
// loading *and* attaching, down a ladder of rungs. What libbpf made of an object for that (its type
// information, relocations, instructions: several times the object) goes once it is loaded; the
// kernel's descriptors stay. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_SENSOR_BPF_GROUP_H_
#define TELLTALE_AGENT_SENSOR_BPF_GROUP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/owned_fd.h"
#include "agent/sensor/cpu_counters.h"

struct bpf_object;

namespace telltale::agent {

// Descriptors of the maps created so far, by name. Owns them.
class SharedMaps {
 public:
  // Scoped: for objects that count the tasks of one cgroup only (bpf/scope.bpf.h).
  explicit SharedMaps(uint32_t possible_cpus, bool scoped = false)
      : possible_cpus_(possible_cpus), scoped_(scoped) {}
  ~SharedMaps();
  SharedMaps(const SharedMaps&) = delete;
  SharedMaps& operator=(const SharedMaps&) = delete;

  int fd(const std::string& name) const;  // -1: not created yet
  uint32_t possible_cpus() const { return possible_cpus_; }
  bool scoped() const { return scoped_; }

  // Before load: sizes the per-CPU maps of `object` and lets it reuse what exists.
  absl::Status Prepare(bpf_object* object) const;
  // After load: keeps the shared maps that `object` created.
  absl::Status Adopt(bpf_object* object);

 private:
  const uint32_t possible_cpus_;
  const bool scoped_;
  std::map<std::string, int> fds_;
};

// One way to watch a group's vitals: these programs, attached at this hook. Without programs: all
// that the object has, at the hooks they name themselves.
struct Rung {
  std::vector<std::string> programs = {};
  std::string hook = {};    // as shown to people
  std::string reason = {};  // why this is less than the rung above; empty on the first
  std::optional<PerfCounter> counter = {};  // what runs a program in the section perf_event
};

class BpfGroup {
 public:
  BpfGroup(std::string object, std::vector<Rung> rungs);
  ~BpfGroup();

  // Tries the rungs in order. On failure the status says why the *first* one failed, for people.
  // `perf`: may be null if no rung has a counter.
  absl::Status Start(SharedMaps& maps, PerfEvents* perf = nullptr);
  // The rung in use was attached in vain, `why`: goes on with those below it. As Start.
  absl::Status StartLower(const std::string& why, SharedMaps& maps, PerfEvents* perf = nullptr);

  const std::string& object() const { return object_name_; }
  const Rung* rung() const { return rung_; }  // in use; nullptr: none
  // Why the rungs above the one in use failed; empty if it is the first.
  const std::string& why_not_higher() const { return why_; }
  // On which CPUs the rung's counter does not run, and why; empty: it does on all.
  const std::string& gaps() const { return counters_.gaps(); }
  // Of a program of the rung in use, of a map; -1: there is none.
  int program_fd(const std::string& name) const;
  int map_fd(const std::string& name) const;
  // How many entries a hash map with keys of 8 bytes has; 0: there is no such map.
  int64_t Entries(const std::string& map) const;
  // Takes a program of the rung in use off its hook, puts it there again. Harmless when it is so
  // already; a program that is not of the rung is left alone. Any thread; waits for another's call.
  void Detach(const std::string& name);
  absl::Status Attach(const std::string& name);

  // Times the kernel refused to run this program inside itself, since the start.
  uint64_t RecursionMisses(const std::string& name) const;

 private:
  struct Program {
    std::string name, section;  // the section says where it is attached
    uint32_t attach_type = 0;   // enum bpf_attach_type
    OwnedFd fd;
  };
  const Program* Find(const std::string& name) const;
  // `why`: those above `first` are not in use; OK: there are none.
  absl::Status StartFrom(size_t first, absl::Status why, SharedMaps& maps, PerfEvents* perf);
  absl::Status Try(Rung& rung, SharedMaps& maps, PerfEvents* perf);
  absl::Status Load(std::span<const char> image, Rung& rung, SharedMaps& maps, PerfEvents* perf);
  absl::Status Keep(bpf_object* object);
  absl::Status AttachRung(const Rung& rung, PerfEvents* perf);
  absl::Status AttachProgram(const Program& program);
  void Close();

  const std::string object_name_;
  std::vector<Rung> rungs_;
  std::vector<Program> programs_;  // those loaded, as they stand in the object
  // The kernel takes a map's timer away with the last descriptor.
  std::map<std::string, OwnedFd> maps_;
  std::mutex hooks_mutex_;                // of links_ and counters_ once the rung is in use
  std::map<std::string, OwnedFd> links_;  // by program
  CpuCounters counters_;
  const Rung* rung_ = nullptr;
  std::string why_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_BPF_GROUP_H_
