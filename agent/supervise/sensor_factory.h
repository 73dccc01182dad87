// Makes the sensor and the resolver that the configuration names. Called by the sensor process and
// by `telltale-agent check`.

#ifndef TELLTALE_AGENT_SUPERVISE_SENSOR_FACTORY_H_
#define TELLTALE_AGENT_SUPERVISE_SENSOR_FACTORY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/config.h"
#include "agent/sensor/sensor.h"
#include "agent/symbols/resolver.h"

namespace telltale::agent {

struct SensorParts {
  std::unique_ptr<Sensor> sensor;
  std::unique_ptr<Resolver> resolver;
  std::string user_stacks;  // how they are taken, for people
};

// `agent_cpu_ns`: what all processes of the agent have used; called by the sensor's thread.
// Unimplemented: built without it, or a scope it cannot watch.
absl::StatusOr<SensorParts> MakeSensor(const Config& config,
                                       std::function<uint64_t()> agent_cpu_ns);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_SENSOR_FACTORY_H_
