#include "collector/web/engine_api.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::web {

query::Cancelled CancelledBy(std::shared_ptr<const std::atomic<bool>> flag) {
  return [flag = std::move(flag)] { return flag != nullptr && flag->load(); };
}

namespace {

struct Asked {
  const query::Engine* engine;
  query::TellOpened opened;
};

template <typename Question, typename Answer>
using Ask = absl::StatusOr<Answer> (query::Engine::*)(const Question&,
                                                      const query::Cancelled&) const;

template <typename Question, typename Answer>
void Add(ApiTable& api, const std::string& name, const Asked& asked, Ask<Question, Answer> ask) {
  api.Add<Question, Answer>(name, [asked, ask](const Question& question, const CallContext& call) {
    if (asked.opened) {
      query::ForEachOpened(question, [&](const char* what, const v1::Selection& selection) {
        asked.opened(absl::StrCat(collector::RoleName(call.peer.role), "/", call.peer.name),
                     call.address, what, selection);
      });
    }
    return (asked.engine->*ask)(question, CancelledBy(call.cancelled));
  });
}

// One whose answers are kept, and show no samples: nobody is told of those sent on.
template <typename Question, typename Answer>
void AddKept(ApiTable& api, const std::string& name, const query::Engine* engine,
             Ask<Question, Answer> ask) {
  api.Add<Question, Answer>(
      name,
      [engine, ask](const Question& question, const CallContext& call) {
        return (engine->*ask)(question, CancelledBy(call.cancelled));
      },
      [engine](const Question& question) { return engine->Kept(question); });
}

}  // namespace

ApiTable EngineApi(const query::Engine* engine, query::TellOpened opened) {
  using query::Engine;
  const Asked asked{engine, std::move(opened)};
  ApiTable api;
  Add(api, "status", asked, &Engine::Status);
  Add(api, "nodes", asked, &Engine::Nodes);
  Add(api, "vitals", asked, &Engine::Vitals);
  AddKept(api, "series", engine, &Engine::Series);
  AddKept(api, "top", engine, &Engine::Top);
  Add(api, "samples", asked, &Engine::Samples);
  Add(api, "stacks", asked, &Engine::Stacks);
  Add(api, "flame", asked, &Engine::Flame);
  Add(api, "diff", asked, &Engine::Diff);
  Add(api, "histogram", asked, &Engine::Histogram);
  Add(api, "coverage", asked, &Engine::Coverage);
  Add(api, "host", asked, &Engine::Host);
  Add(api, "events", asked, &Engine::Events);
  Add(api, "anomalies", asked, &Engine::Anomalies);
  Add(api, "filter_series", asked, &Engine::FilterSeries);
  Add(api, "marks", asked, &Engine::Marks);
  Add(api, "investigate", asked, &Engine::Investigate);
  return api;
}

}  // namespace telltale::web
