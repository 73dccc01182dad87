// Is it only here? What one node had of a vital in a while, per CPU, beside what its peers had of
// it at the same time. Peers are nodes with the same label `role`; of a node without one, those
// with the same kernel and number of CPUs that have no role either. Agents of a cgroup and of a
// whole host are no peers.
//
// Pure but for what the engine reads; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_PEERS_H_
#define TELLTALE_COLLECTOR_QUERY_PEERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "collector/query/engine.h"
#include "telltale/v1/query.pb.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::query {

inline constexpr uint32_t kMostPeersRead = 100;   // of more, evenly chosen by name
inline constexpr double kLongestPeerSpanS = 600;  // of a longer while, its beginning

// "only here: postgres has 0.93 waiting a CPU, its 12 peers (role db) 0.02 in the middle and 0.05
// at most"; empty where there is nothing to compare: no peer was watched then, or the symptom is
// not of a vital. Of a symptom that names a program it is what that program had. Cancelled and what
// else a question may be refused for.
absl::StatusOr<std::string> PeersText(const Engine& engine, const v1::IncidentSymptom& symptom,
                                      const Cancelled& cancelled);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_PEERS_H_
