// The logs that are followed as server-sent events (event_stream.h): anomalies as they are found,
// and incidents, each as it is now whenever it changed.
//
// Thread-safe.

#ifndef TELLTALE_COLLECTOR_WEB_WATCH_EVENTS_H_
#define TELLTALE_COLLECTOR_WEB_WATCH_EVENTS_H_

#include "collector/filter/anomaly_log.h"
#include "collector/incident/incident_book.h"
#include "collector/web/http_types.h"

namespace telltale::web {

// Both outlive the server.
Handler FollowAnomalies(filter::AnomalyLog* log);       // events "anomaly", data v1.Anomaly
Handler FollowIncidents(incident::IncidentBook* book);  // events "incident", data v1.Incident

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_WATCH_EVENTS_H_
