#include "agent/supervise/sensor_factory.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/sensor/replay_sensor.h"
#include "agent/sensor/replay_world.h"
#include "agent/symbols/host_resolver.h"
#include "agent/uplink/clock.h"
#ifdef TELLTALE_WITH_BPF
#include "agent/clock_ns.h"
#include "agent/sensor/bpf_sensor.h"
#include "agent/unwind/host_unwinder.h"
#include "sketch/layout.h"
#endif

namespace telltale::agent {
namespace {

#ifdef TELLTALE_WITH_BPF
// This host's sensor and resolver; they share what is known of its processes.
SensorParts MakeHostParts(const Config& config, std::function<uint64_t()> agent_cpu_ns) {
  HostResolver::Options host;
  host.clock_ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  host.boot_minus_mono_ns = BootMinusMonoNs;
  const auto maps = std::make_shared<ProcessMaps>(host);
  BpfSensorOptions sensor;
  sensor.governor.budget = config.sensor_budget;
  sensor.cgroup = ScopeOf(config);
  sensor.agent_cpu_ns = std::move(agent_cpu_ns);
#ifdef __x86_64__
  HostUnwinder::Options unwinder;
  unwinder.tables.store.directory = config.unwind_dir;
  unwinder.tables.store.max_bytes = config.unwind_max_bytes;
  sensor.unwinder = std::make_shared<HostUnwinder>(std::move(unwinder), maps);
  const std::string user_stacks = absl::StrCat(
      "up to ", TELLTALE_STACK_BYTES / 1024, " KB copied and unwound; tables ",
      config.unwind_dir.empty() ? "built at each start" : absl::StrCat("in ", config.unwind_dir),
      "; 32-bit programs by frame pointers");
#else
  const std::string user_stacks =
      "by frame pointers, which most programs lack: copies are unwound on x86-64 only";
#endif
  return {std::make_unique<BpfSensor>(std::move(sensor)),
          std::make_unique<HostResolver>(std::move(host), maps), user_stacks};
}
#endif

}  // namespace

absl::StatusOr<SensorParts> MakeSensor(const Config& config,
                                       std::function<uint64_t()> agent_cpu_ns) {
  if (config.sensor_kind == "replay") {
    ReplayOptions options;
    options.seed = config.sensor_replay_seed;
    // As many as the node says it has: a collector flags more CPU time than that as impossible.
    options.cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    options.mono_ns = [] { return SystemClock().MonoNs(); };
    return SensorParts{std::make_unique<ReplaySensor>(std::move(options)),
                       std::make_unique<ReplayResolver>(), "synthetic"};
  }
#ifdef TELLTALE_WITH_BPF
  return MakeHostParts(config, std::move(agent_cpu_ns));
#else
  return absl::UnimplementedError(
      "sensor: kind bpf: this program was built without it (TELLTALE_BPF=OFF); set sensor.kind: "
      "replay or build with it");
#endif
}

}  // namespace telltale::agent
