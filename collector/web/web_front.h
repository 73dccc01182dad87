// The HTTPS side of a collector put together: every answer of the query engine as JSON, /metrics,
// followed anomalies and seconds, landing page, health. Owned by main, made after and destroyed
// before what it points to.
//
// Start and Stop by the owner; the rest runs on the server's threads.

#ifndef TELLTALE_COLLECTOR_WEB_WEB_FRONT_H_
#define TELLTALE_COLLECTOR_WEB_WEB_FRONT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/filter/anomaly_log.h"
#include "collector/incident/incident_book.h"
#include "collector/ingest/live_hub.h"
#include "collector/metrics/metrics_page.h"
#include "collector/query/engine.h"
#include "collector/query/opened.h"
#include "collector/web/http_server.h"
#include "collector/web/incident_api.h"
#include "storage/reader.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::web {

struct WebFrontOptions {
  HttpServerOptions
      http;  // address, port, certificate files, limits, log; its handler is made here
  bool metrics_public = false;
  size_t metrics_per_node_limit = 1000;
  std::string version;
  const query::Engine* engine = nullptr;
  query::TellOpened opened;  // may be empty
  const storage::Reader* reader = nullptr;
  filter::AnomalyLog* anomalies = nullptr;
  std::function<v1::ListFiltersAnswer()> filters;  // may be empty
  IncidentApi incidents;                           // without a book: none are answered
  ingest::LiveHub* live = nullptr;
  std::function<metrics::IngestFigures()> ingest;             // ack latency, refusals; may be empty
  std::function<metrics::GrpcFigures()> grpc;                 // may be empty
  std::function<metrics::EnrollFigures()> enroll;             // may be empty
  std::function<std::optional<metrics::DiskFigures>()> disk;  // of the data; may be empty
  std::function<uint64_t()> maintenance_failures;             // of the store; may be empty
  // Whose certificate ends when, in Unix seconds; may be empty.
  std::function<std::vector<std::pair<std::string, uint64_t>>()> certificate_ends;
  // Of the revocation lists in force, in Unix seconds; may be empty.
  std::function<std::optional<uint64_t>()> crl_next_update;
  std::function<absl::Status()> ready;  // may be empty: ready as long as it runs
};

class WebFront {
 public:
  // Errors as HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<WebFront>> Start(WebFrontOptions options);
  ~WebFront();  // Stop()
  WebFront(const WebFront&) = delete;
  WebFront& operator=(const WebFront&) = delete;

  void Stop();  // twice is safe
  uint16_t port() const;

 private:
  WebFront() = default;
  std::unique_ptr<metrics::MetricsExporter> exporter_;
  std::unique_ptr<HttpServer> server_;  // keep last: its threads use the rest
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_WEB_FRONT_H_
