// What events of a replayed program look like: how heavy one is, which sub-series it belongs to,
// what its label and details say. All of it follows from the program, the vital and the code site
// (0 is the busiest). Free functions: any thread.

#ifndef TELLTALE_AGENT_SENSOR_REPLAY_SITES_H_
#define TELLTALE_AGENT_SENSOR_REPLAY_SITES_H_

#include <cstdint>

#include "agent/sensor/replay_world.h"
#include "agent/sensor/sensor.h"
#include "sketch/vitals.h"

namespace telltale::agent {

// SplitMix64's finisher: the only source of variety, so that equal seeds replay equally.
uint64_t ReplayMix(uint64_t x);

// Typical weight of one event, in the vital's unit.
double ReplayEventWeight(uint8_t vital);

// Vitals that together are all the time of a task: run, runnable, asleep.
bool IsTaskTime(uint8_t vital);

// Whether sub-series come in pairs: what begins (even) and what ends (odd).
bool IsPaired(uint8_t vital);

// Sub-series of a site's events. `salt` tells processes apart.
uint8_t ReplaySubOf(uint8_t vital, const ReplayProgram& program, uint32_t site, uint64_t salt);

// A field's value for events of one site of process `p`; `weight` is that of one event.
uint64_t ReplayFieldValue(const sketch::Field& field, const RawProcess& p,
                          const ReplayProgram& program, uint8_t vital, uint8_t sub, uint32_t site,
                          uint64_t weight);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_REPLAY_SITES_H_
