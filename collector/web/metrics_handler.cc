#include "collector/web/metrics_handler.h"

#include "absl/strings/str_cat.h"

namespace telltale::web {
namespace {

class MetricsStream : public BodyStream {
 public:
  explicit MetricsStream(std::unique_ptr<metrics::MetricsPage> page) : page_(std::move(page)) {}

  absl::StatusOr<Step> Next(std::string& piece) override {
    return page_->Next(piece) ? Step::kMore : Step::kEnd;
  }

 private:
  const std::unique_ptr<metrics::MetricsPage> page_;
};

}  // namespace

Handler MetricsHandler(metrics::MetricsExporter* exporter) {
  return [exporter](const Request&) {
    Response response;
    response.content_type = metrics::kMetricsContentType;
    response.stream = std::make_unique<MetricsStream>(exporter->Page());
    return response;
  };
}

metrics::HttpFigures FiguresOf(const HttpStats& stats) {
  metrics::HttpFigures figures;
  figures.connections = stats.open;
  for (size_t i = 2; i < stats.answers.size(); ++i) {
    figures.answers.emplace_back(absl::StrCat(i, "xx"), stats.answers[i]);
  }
  for (size_t i = 0; i < kRefusals; ++i) {
    figures.refused.emplace_back(RefusalName(static_cast<Refusal>(i)), stats.refused[i]);
  }
  return figures;
}

}  // namespace telltale::web
