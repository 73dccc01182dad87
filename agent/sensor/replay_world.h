// The little world a ReplaySensor plays: programs with their habits, where their code lies, and
// what its functions are called. Constant data and a Resolver over it; any thread may read it.

#ifndef TELLTALE_AGENT_SENSOR_REPLAY_WORLD_H_
#define TELLTALE_AGENT_SENSOR_REPLAY_WORLD_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "agent/sensor/sensor.h"
#include "agent/symbols/resolver.h"
#include "sketch/vital_ids.h"

namespace telltale::agent {

// One kind of program. Rates are per process and second, in the unit of each vital.
struct ReplayProgram {
  std::string_view name;  // also its comm
  std::string_view path;  // empty: kernel thread
  std::string_view cgroup;
  uint32_t uid = 0;
  uint32_t processes = 1;  // long-lived ones; for short-lived: begun in a second
  uint32_t threads = 1;
  bool short_lived = false;
  uint8_t wait = TELLTALE_BLOCK_POLL;                  // what it mostly waits for
  uint32_t sites = 8;                                  // code places it is active from
  std::array<double, TELLTALE_BUILTIN_VITALS> rate{};  // [vital id]; blocking is what remains
};

std::span<const ReplayProgram> ReplayPrograms();

// Where code lies: each process has its executable and its C library at addresses of its own.
uint64_t ReplayUserAddress(uint32_t tgid, bool library, uint32_t offset);  // offset < 16 MiB
uint64_t ReplayKernelAddress(uint32_t function, uint32_t offset);          // offset < 0x400
inline constexpr uint32_t kReplayKernelFunctions = 16;

ExeId ReplayExe(size_t program);  // of ReplayPrograms()[program]
uint64_t ReplayCgroup(size_t program);

// Names for what a ReplaySensor gives out.
class ReplayResolver : public Resolver {
 public:
  ReplayResolver();

  std::string ExePath(const ProcessRef& process) override;
  std::string CgroupPath(const ProcessRef& process) override;
  CodeLocation User(const ProcessRef& process, uint64_t address, uint64_t now_ns) override;
  CodeLocation Kernel(uint64_t address) override;
  FunctionName Name(const ProcessRef& process, const CodeLocation& location) override;
  void OnExec(const RawEvent& event) override;

 private:
  std::shared_ptr<const CodeFile> kernel_, library_;
  std::vector<std::shared_ptr<const CodeFile>> programs_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_REPLAY_WORLD_H_
