#include "collector/web/web_front.h"

#include <atomic>
#include <map>

#include "collector/metrics/store_figures.h"
#include "collector/web/anomaly_events.h"
#include "collector/web/landing_page.h"
#include "collector/web/metrics_handler.h"
#include "collector/web/router.h"
#include "collector/web/ui_files.h"

namespace telltale::web {
namespace {

query::Cancelled CancelledBy(std::shared_ptr<const std::atomic<bool>> flag) {
  return [flag = std::move(flag)] { return flag != nullptr && flag->load(); };
}

template <typename Question, typename Answer>
void Add(ApiTable& api, const std::string& name, const query::Engine* engine,
         absl::StatusOr<Answer> (query::Engine::*ask)(const Question&, const query::Cancelled&)
             const) {
  api.Add<Question, Answer>(name, [engine, ask](const Question& question, const CallContext& call) {
    return (engine->*ask)(question, CancelledBy(call.cancelled));
  });
}

ApiTable ApiOf(const query::Engine* engine) {
  using query::Engine;
  ApiTable api;
  Add(api, "status", engine, &Engine::Status);
  Add(api, "nodes", engine, &Engine::Nodes);
  Add(api, "vitals", engine, &Engine::Vitals);
  Add(api, "series", engine, &Engine::Series);
  Add(api, "top", engine, &Engine::Top);
  Add(api, "samples", engine, &Engine::Samples);
  Add(api, "stacks", engine, &Engine::Stacks);
  Add(api, "flame", engine, &Engine::Flame);
  Add(api, "diff", engine, &Engine::Diff);
  Add(api, "histogram", engine, &Engine::Histogram);
  Add(api, "coverage", engine, &Engine::Coverage);
  Add(api, "events", engine, &Engine::Events);
  Add(api, "anomalies", engine, &Engine::Anomalies);
  Add(api, "marks", engine, &Engine::Marks);
  Add(api, "investigate", engine, &Engine::Investigate);
  return api;
}

Handler Landing(const query::Engine* engine) {
  return LandingHandler([engine](const Request& request) -> absl::StatusOr<LandingData> {
    const auto cancelled = CancelledBy(request.cancelled);
    auto status = engine->Status({}, cancelled);
    if (!status.ok()) return status.status();
    auto nodes = engine->Nodes({}, cancelled);
    if (!nodes.ok()) return nodes.status();
    auto vitals = engine->Vitals({}, cancelled);
    if (!vitals.ok()) return vitals.status();
    return LandingData{*std::move(status), *std::move(nodes), *std::move(vitals)};
  });
}

std::vector<metrics::FilterFigures> FiguresOf(const filter::FilterRunner& runner,
                                              const filter::AnomalyLog& log) {
  const auto counts = log.Counts();
  const auto skipped = runner.Skipped();
  std::vector<metrics::FilterFigures> list;
  for (const v1::FilterStatus& status : runner.Status()) {
    metrics::FilterFigures& figures = list.emplace_back();
    figures.filter = status.name();
    figures.lag_s = status.lag_s();
    if (const auto found = skipped.find(status.name()); found != skipped.end()) {
      figures.skipped = found->second;
    }
    for (const auto& [key, count] : counts) {
      if (key.first == status.name()) figures.anomalies.emplace_back(key.second, count);
    }
  }
  return list;
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
  sources.grpc_refused = options.grpc_refused;
  sources.disk = options.disk;
  sources.certificate_ends = options.certificate_ends;
  sources.answer_cache = [engine = options.engine] {
    const query::AnswerCache::Figures kept = engine->CacheFigures();
    return metrics::AnswerCacheFigures{kept.hits, kept.misses, kept.evictions, kept.bytes};
  };
  if (options.filters != nullptr && options.anomalies != nullptr) {
    sources.filters = [runner = options.filters, log = options.anomalies] {
      return FiguresOf(*runner, *log);
    };
    sources.recent_anomalies = [log = options.anomalies, reader = options.reader](uint32_t node) {
      const auto record = reader->Node(node);
      return record.has_value() ? log->Recent(record->name()) : 0;
    };
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
  routes.landing = Landing(options.engine);
  routes.ui = UiResponse;
  routes.api = ApiOf(options.engine);
  options.http.handler = MakeRouter(std::move(routes));
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
