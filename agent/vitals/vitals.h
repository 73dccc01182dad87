// The vitals that this agent knows: Telltale's own (sketch/vitals.h) and, behind them, those that a
// site built in (agent/sensor/NEW_VITAL.md). The collector learns of the latter from the schema
// that travels with the data, so only the agent has this table.
//
// Constant data, readable from any thread.

#ifndef TELLTALE_AGENT_VITALS_VITALS_H_
#define TELLTALE_AGENT_VITALS_VITALS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "sketch/vitals.h"

namespace telltale::agent {

// In id order. A vital's place here is its place in the kernel's memory (sketch/layout.h).
std::span<const sketch::Vital> Vitals();

// Those of the site alone; made by cmake/LocalVitals.cmake.
std::span<const sketch::Vital> LocalVitals();

// nullptr: none has this id.
const sketch::Vital* FindVital(uint8_t id);

// Its index in Vitals(). The vital must be known.
size_t PlaceOf(uint8_t id);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_VITALS_VITALS_H_
