// Incidents as Alertmanager's API v2 takes them. Pure.

#ifndef TELLTALE_COLLECTOR_ALERT_ALERTS_H_
#define TELLTALE_COLLECTOR_ALERT_ALERTS_H_

#include <cstdint>
#include <span>
#include <string>

#include "telltale/v1/watch.pb.h"

namespace telltale::alert {

struct AlertWords {
  std::string store;  // short id of the store: two collectors' incidents are told apart
  std::string url;    // where people reach this collector, without a slash at the end
};

// The body of POST /api/v2/alerts. An alert is known by its labels, so they are of the incident's
// first symptom and never change: alertname, collector, incident, filter, node, process, rule,
// severity, vital. What may change stands in annotations: summary, description, state. One that is
// resolved, or under silences, has an end; the others have none and hold until Alertmanager's
// resolve_timeout after the last post.
std::string AlertsJson(std::span<const v1::Incident> incidents, const AlertWords& words,
                       uint64_t now_ns);

}  // namespace telltale::alert

#endif  // TELLTALE_COLLECTOR_ALERT_ALERTS_H_
