// Which question of the query engine has which path below /api/v1.

#ifndef TELLTALE_COLLECTOR_WEB_ENGINE_API_H_
#define TELLTALE_COLLECTOR_WEB_ENGINE_API_H_

#include <atomic>
#include <memory>

#include "collector/query/engine.h"
#include "collector/query/opened.h"
#include "collector/web/api.h"

namespace telltale::web {

// The engine outlives the table. Its handlers may be called by any thread. `opened` is told of
// questions that show samples; it may be empty.
ApiTable EngineApi(const query::Engine* engine, query::TellOpened opened = {});

// For the engine: cancelled once the flag is set. No flag: never.
query::Cancelled CancelledBy(std::shared_ptr<const std::atomic<bool>> flag);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_ENGINE_API_H_
