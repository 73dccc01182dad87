// An incident as answers and feeds show it. Pure.

#ifndef TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_
#define TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_

#include "telltale/v1/filter.pb.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::incident {

// In a list: the first 8 symptoms, without their evidence.
enum class Shown { kWhole, kInList };
v1::Incident ToAnswer(const v1::StoredIncident& stored, Shown shown);

const char* StateText(v1::IncidentState state);

}  // namespace telltale::incident

#endif  // TELLTALE_COLLECTOR_INCIDENT_INCIDENT_ANSWER_H_
