// /api/v1/live: what happens now, as server-sent events: `second` and `trouble` of the nodes named
// with ?node= (repeatable), `epoch` of them or, without any, of all. It cannot be resumed: what
// happened meanwhile is asked for. `begin` comes first and says that the stream is there.
//
// Thread-safe.

#ifndef TELLTALE_COLLECTOR_WEB_LIVE_EVENTS_H_
#define TELLTALE_COLLECTOR_WEB_LIVE_EVENTS_H_

#include "collector/ingest/live_hub.h"
#include "collector/web/http_types.h"

namespace telltale::web {

// `hub` outlives the server.
Handler FollowLive(ingest::LiveHub* hub);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_LIVE_EVENTS_H_
