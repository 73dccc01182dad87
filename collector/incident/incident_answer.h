// An incident as answers and feeds show it. Pure but for who is asked about peers.

#ifndef TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_
#define TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_

#include <functional>
#include <string>

#include "telltale/v1/filter.pb.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::incident {

// In a list: the first 8 symptoms, without their evidence.
enum class Shown { kWhole, kInList };
v1::Incident ToAnswer(const v1::StoredIncident& stored, Shown shown);

// What a symptom's peers had at its time, as a sentence (query::PeersText); any thread.
using PeerLook = std::function<std::string(const v1::IncidentSymptom& symptom)>;
// Of the first 8 diagnoses that stand for themselves.
void AddPeers(const PeerLook& look, v1::Incident& incident);

// What the last who changed it did, as its note has it; the collector's own notes may follow it.
std::string LastDone(const v1::Incident& incident);

const char* StateText(v1::IncidentState state);

}  // namespace telltale::incident

#endif  // TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_
