#include "collector/web/engine_api.h"

#include <string>
#include <utility>

namespace telltale::web {

query::Cancelled CancelledBy(std::shared_ptr<const std::atomic<bool>> flag) {
  return [flag = std::move(flag)] { return flag != nullptr && flag->load(); };
}

namespace {

template <typename Question, typename Answer>
using Ask = absl::StatusOr<Answer> (query::Engine::*)(const Question&,
                                                      const query::Cancelled&) const;

template <typename Question, typename Answer>
ApiTable::Call<Question, Answer> CallOf(const query::Engine* engine, Ask<Question, Answer> ask) {
  return [engine, ask](const Question& question, const CallContext& call) {
    return (engine->*ask)(question, CancelledBy(call.cancelled));
  };
}

template <typename Question, typename Answer>
void Add(ApiTable& api, const std::string& name, const query::Engine* engine,
         Ask<Question, Answer> ask) {
  api.Add<Question, Answer>(name, CallOf(engine, ask));
}

// One whose answers are kept.
template <typename Question, typename Answer>
void AddKept(ApiTable& api, const std::string& name, const query::Engine* engine,
             Ask<Question, Answer> ask) {
  api.Add<Question, Answer>(name, CallOf(engine, ask),
                            [engine](const Question& asked) { return engine->Kept(asked); });
}

}  // namespace

ApiTable EngineApi(const query::Engine* engine) {
  using query::Engine;
  ApiTable api;
  Add(api, "status", engine, &Engine::Status);
  Add(api, "nodes", engine, &Engine::Nodes);
  Add(api, "vitals", engine, &Engine::Vitals);
  AddKept(api, "series", engine, &Engine::Series);
  AddKept(api, "top", engine, &Engine::Top);
  Add(api, "samples", engine, &Engine::Samples);
  AddKept(api, "stacks", engine, &Engine::Stacks);
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
