// An incident as answers and feeds show it. Pure but for who is asked about peers.

#ifndef TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_
#define TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::incident {

// In a list: the first 8 symptoms, without their evidence.
enum class Shown { kWhole, kInList };
v1::Incident ToAnswer(const v1::StoredIncident& stored, Shown shown);

// What a symptom's peers had at its time, as a sentence (query::PeersText); any thread. Cancelled:
// as asked.
using PeerLook = std::function<absl::StatusOr<std::string>(const v1::IncidentSymptom& symptom,
                                                           const std::function<bool()>& cancelled)>;
inline constexpr std::chrono::milliseconds kPeerTime{5'000};
// Of the first 8 diagnoses that stand for themselves, in so much time for all of them: who asked
// waits for the rest of the answer. Those that it is not enough for say so. `cancelled`: may be
// empty.
void AddPeers(const PeerLook& look, const std::function<bool()>& cancelled,
              std::chrono::milliseconds time, v1::Incident& incident);

// What the last who changed it did, as its note has it; the collector's own notes may follow it.
std::string LastDone(const v1::Incident& incident);

const char* StateText(v1::IncidentState state);

}  // namespace telltale::incident

#endif  // TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_
