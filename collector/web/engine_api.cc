#include "collector/web/engine_api.h"

#include <string>
#include <utility>

namespace telltale::web {

query::Cancelled CancelledBy(std::shared_ptr<const std::atomic<bool>> flag) {
  return [flag = std::move(flag)] { return flag != nullptr && flag->load(); };
}

namespace {

template <typename Question, typename Answer>
void Add(ApiTable& api, const std::string& name, const query::Engine* engine,
         absl::StatusOr<Answer> (query::Engine::*ask)(const Question&, const query::Cancelled&)
             const) {
  api.Add<Question, Answer>(name, [engine, ask](const Question& question, const CallContext& call) {
    return (engine->*ask)(question, CancelledBy(call.cancelled));
  });
}

}  // namespace

ApiTable EngineApi(const query::Engine* engine) {
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
  Add(api, "host", engine, &Engine::Host);
  Add(api, "events", engine, &Engine::Events);
  Add(api, "anomalies", engine, &Engine::Anomalies);
  Add(api, "filter_series", engine, &Engine::FilterSeries);
  Add(api, "marks", engine, &Engine::Marks);
  Add(api, "investigate", engine, &Engine::Investigate);
  return api;
}

}  // namespace telltale::web
