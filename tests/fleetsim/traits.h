// Who a simulated node is, and what its agent says about it. Values and free functions; any thread.

#ifndef TELLTALE_TESTS_FLEETSIM_TRAITS_H_
#define TELLTALE_TESTS_FLEETSIM_TRAITS_H_

#include <cstdint>
#include <string>

#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::fleetsim {

// The rest follows from the seed.
struct NodeTraits {
  std::string name;
  uint32_t number = 0;  // in its fleet; decides whether it runs other builds
  uint64_t seed = 0;
  std::string incarnation;  // 16 bytes
  std::string boot_id;      // 16 bytes
  uint64_t agent_start_unix_ns = 0;
  uint32_t cpus = 4;
};

// "sim-00001" is number 1.
std::string NodeName(uint32_t number);

// `run`, nanoseconds since 1970: differs between runs, so that a node is a freshly installed agent
// in each; all else of it follows from the seed of the fleet and its number.
NodeTraits TraitsOf(uint64_t fleet_seed, uint32_t number, uint64_t run);

// `schema`: of its epochs; all vitals in it are active.
v1::NodeInfo InfoOf(const NodeTraits& traits, const v1::Schema& schema, uint32_t epoch_s);

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_TRAITS_H_
