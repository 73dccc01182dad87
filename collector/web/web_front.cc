#include "collector/web/web_front.h"

#include <atomic>

#include "collector/metrics/store_figures.h"
#include "collector/web/engine_api.h"
#include "collector/web/landing_page.h"
#include "collector/web/live_events.h"
#include "collector/web/metrics_handler.h"
#include "collector/web/router.h"
#include "collector/web/ui_files.h"
#include "collector/web/watch_events.h"

namespace telltale::web {
namespace {

Handler Landing(const query::Engine* engine) {
  return LandingHandler([engine](const Request& request) -> absl::StatusOr<LandingData> {
    const query::Cancelled cancelled = CancelledBy(request.cancelled);
    auto status = engine->Status({}, cancelled);
    if (!status.ok()) return status.status();
    auto nodes = engine->Nodes({}, cancelled);
    if (!nodes.ok()) return nodes.status();
    auto vitals = engine->Vitals({}, cancelled);
    if (!vitals.ok()) return vitals.status();
    return LandingData{*std::move(status), *std::move(nodes), *std::move(vitals)};
  });
}

std::vector<metrics::FilterFigures> FiguresOf(const v1::ListFiltersAnswer& filters,
                                              const filter::AnomalyLog& log) {
  const auto counts = log.Counts();
  std::vector<metrics::FilterFigures> list;
  for (const v1::FilterInfo& info : filters.filters()) {
    metrics::FilterFigures& figures = list.emplace_back();
    figures.filter = info.name();
    figures.lag_s = info.status().lag_s();
    figures.skipped = info.epochs_late();
    figures.unreadable = info.epochs_unreadable();
    figures.dropped = info.dropped();
    for (const auto& [key, count] : counts) {
      if (key.first == info.name()) figures.anomalies.emplace_back(key.second, count);
    }
    if (!info.has_user()) continue;
    figures.user = {.disabled = info.status().state() == "disabled",
                    .failures = info.user().failures(),
                    .cpu_s = info.user().cpu_s(),
                    .memory_bytes = info.user().memory_bytes()};
  }
  return list;
}

metrics::IncidentFigures FiguresOf(const IncidentApi& api) {
  const incident::IncidentCounts counts = api.book->Counts();
  metrics::IncidentFigures figures;
  figures.open = counts.open;
  figures.acknowledged = counts.acknowledged;
  figures.silenced = counts.silenced;
  if (!api.alertmanagers) return figures;
  for (const v1::AlertTarget& target : api.alertmanagers()) {
    figures.alertmanagers.push_back({target.url(), target.posts(), target.failures()});
  }
  return figures;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WebFront>> WebFront::Start(WebFrontOptions options) {
  std::unique_ptr<WebFront> front(new WebFront);
  // Metrics ask for the server's figures, the server is made with the metrics: tied here, once it
  // is up.
  const auto stats = std::make_shared<std::atomic<const HttpStats*>>(nullptr);
  metrics::MetricSources sources;
  metrics::UseStore(options.reader, sources);
  sources.version = options.version;
  sources.ingest = options.ingest;
  sources.grpc = options.grpc;
  sources.enroll = options.enroll;
  sources.disk = options.disk;
  if (options.ready) sources.store_writable = [ready = options.ready] { return ready().ok(); };
  sources.maintenance_failures = options.maintenance_failures;
  sources.certificate_ends = options.certificate_ends;
  sources.crl_next_update = options.crl_next_update;
  sources.answer_cache = [engine = options.engine] {
    const query::AnswerCache::Figures kept = engine->CacheFigures();
    return metrics::AnswerCacheFigures{kept.hits, kept.misses, kept.evictions, kept.bytes};
  };
  if (options.filters && options.anomalies != nullptr) {
    sources.filters = [filters = options.filters, log = options.anomalies] {
      return FiguresOf(filters(), *log);
    };
    sources.recent_anomalies = [log = options.anomalies, reader = options.reader](uint32_t node) {
      const auto record = reader->Node(node);
      return record.has_value() ? log->Recent(record->name()) : 0;
    };
  }
  if (options.incidents.book != nullptr) {
    sources.incidents = [api = options.incidents] { return FiguresOf(api); };
  }
  sources.http = [stats] {
    const HttpStats* figures = stats->load();
    return figures == nullptr ? metrics::HttpFigures() : FiguresOf(*figures);
  };
  front->exporter_ = std::make_unique<metrics::MetricsExporter>(std::move(sources),
                                                                options.metrics_per_node_limit);
  RouterOptions routes;
  routes.ready = options.ready;
  routes.metrics_public = options.metrics_public;
  routes.metrics = MetricsHandler(front->exporter_.get());
  if (options.anomalies != nullptr) routes.follow_anomalies = FollowAnomalies(options.anomalies);
  if (options.live != nullptr) routes.live = FollowLive(options.live);
  routes.landing = Landing(options.engine);
  routes.ui = UiResponse;
  routes.api = EngineApi(options.engine, options.opened);
  if (options.filters) {
    routes.api.Add<v1::ListFiltersRequest, v1::ListFiltersAnswer>(
        "filters", [filters = options.filters](const v1::ListFiltersRequest&, const CallContext&) {
          return absl::StatusOr<v1::ListFiltersAnswer>(filters());
        });
  }
  if (options.incidents.book != nullptr) {
    routes.follow_incidents = FollowIncidents(options.incidents.book);
    AddIncidents(options.incidents, routes.api);
  }
  options.http.handler = MakeRouter(std::move(routes));
  options.http.at_once = HealthAnswer;
  options.http.quick = AnsweredQuickly;
  auto server = HttpServer::Start(std::move(options.http));
  if (!server.ok()) return server.status();
  front->server_ = *std::move(server);
  stats->store(&front->server_->stats());
  return front;
}

WebFront::~WebFront() { Stop(); }
void WebFront::Stop() {
  if (server_ != nullptr) server_->Stop();
}
uint16_t WebFront::port() const { return server_->port(); }

}  // namespace telltale::web
