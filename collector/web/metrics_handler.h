// /metrics: joins the exporter (collector/metrics) to the server, in both directions: the page it
// serves, and the server's own figures that the page shows.

#ifndef TELLTALE_COLLECTOR_WEB_METRICS_HANDLER_H_
#define TELLTALE_COLLECTOR_WEB_METRICS_HANDLER_H_

#include "collector/metrics/metrics_page.h"
#include "collector/web/http_server.h"
#include "collector/web/http_types.h"

namespace telltale::web {

// `exporter` outlives the handler.
Handler MetricsHandler(metrics::MetricsExporter* exporter);

metrics::HttpFigures FiguresOf(const HttpStats& stats);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_METRICS_HANDLER_H_
