// /api/v1/anomalies/follow: anomalies as they are found, as server-sent events. Each event carries
// its cursor as its id, so a browser (Last-Event-ID) or a script (?cursor=) goes on where it
// stopped, without loss or repeat; without a cursor it begins now, or with ?cursor=0 at the oldest
// that is kept.
//
// Thread-safe.

#ifndef TELLTALE_COLLECTOR_WEB_ANOMALY_EVENTS_H_
#define TELLTALE_COLLECTOR_WEB_ANOMALY_EVENTS_H_

#include "collector/filter/anomaly_log.h"
#include "collector/web/http_types.h"

namespace telltale::web {

// `log` outlives the server. Parameters: cursor, node (repeatable: only these).
Handler FollowAnomalies(filter::AnomalyLog* log);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_ANOMALY_EVENTS_H_
