// What belongs to an incident, and what a diagnosis explains. Pure functions over stored incidents;
// the book (incident_book.h) keeps them.

#ifndef TELLTALE_COLLECTOR_INCIDENT_INCIDENT_MATCH_H_
#define TELLTALE_COLLECTOR_INCIDENT_INCIDENT_MATCH_H_

#include <cstdint>
#include <string>

#include "collector/filter/epoch_source.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/query.pb.h"

namespace telltale::incident {

// How closely an anomaly belongs to an incident; more is closer.
enum class Fit {
  kNone,
  kSameNode,  // there, and both name the same program, cgroup, disk or place in the code; or one is
              // of the node as a whole, of the same vital, and no diagnosis explains it yet
  kExplained,    // a diagnosis of the incident explains it
  kSameSymptom,  // filter, vital, sub-series and program are equal, on whatever node
};
Fit FitOf(const v1::StoredIncident& incident, const v1::Anomaly& anomaly);

// Whether filter, vital, sub-series and program are equal, on whatever nodes.
bool SameSymptom(const v1::StoredSymptom& a, const v1::StoredSymptom& b);

// Where the symptom of the incident may be, by names that live as long as both: on its own nodes,
// or, where it is on more than are kept of it, on those of the incident. Empty: nor are all of
// these kept.
filter::NodeNames NodesOf(const v1::StoredIncident& incident, const v1::StoredSymptom& symptom);

// Whether a diagnosis is a reason for the symptom: both are on one node, and of one program, or the
// symptom's vital is one that this rule's fault drives up for all who are there.
bool Explains(const v1::StoredSymptom& diagnosis, const v1::StoredSymptom& symptom);

// Takes the anomaly in: symptom, nodes, title, times, and what explains what. Whether it is a
// diagnosis that the incident did not have yet.
bool AddAnomaly(v1::StoredIncident& incident, const v1::Anomaly& anomaly);

// Whether all of `other` is explained by diagnoses of `incident` and nobody has worked on it.
bool IsUnder(const v1::StoredIncident& incident, const v1::StoredIncident& other);
// Takes all symptoms of `other` in.
void Merge(v1::StoredIncident& incident, const v1::StoredIncident& other);

// "postgres" of "postgres (pid 812, uid 26)": the same program on other nodes and in other lives.
std::string ProgramOfSubject(const std::string& subject);

uint64_t NsOf(double seconds);

}  // namespace telltale::incident

#endif  // TELLTALE_COLLECTOR_INCIDENT_INCIDENT_MATCH_H_
