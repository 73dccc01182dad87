// What an agent tells of a second, in the names and units of answers. Vitals that are not of the
// built-in table are left out: a second carries no descriptors. Pure; any thread.

#ifndef TELLTALE_COLLECTOR_INGEST_LIVE_RATES_H_
#define TELLTALE_COLLECTOR_INGEST_LIVE_RATES_H_

#include <string>

#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/live.pb.h"

namespace telltale::ingest {

// As long as `live`, which the caller has bounded.
v1::LiveSecond RatesOf(const std::string& node, const v1::Live& live);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_LIVE_RATES_H_
