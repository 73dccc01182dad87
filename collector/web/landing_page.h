// The page at `/plain`: what this collector sees right now, for a person with a browser and no tool
// at hand. One self-contained document without scripts; its style sheet is allowed by hash.
//
// Pure: any thread.

#ifndef TELLTALE_COLLECTOR_WEB_LANDING_PAGE_H_
#define TELLTALE_COLLECTOR_WEB_LANDING_PAGE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "collector/web/http_types.h"
#include "telltale/v1/query.pb.h"

namespace telltale::web {

struct LandingData {
  v1::StatusAnswer status;
  v1::NodesAnswer nodes;
  v1::VitalsAnswer vitals;
};

std::string LandingPage(const LandingData& data);

// Content-Security-Policy that allows exactly the page's style sheet.
std::string LandingPolicy();

Handler LandingHandler(std::function<absl::StatusOr<LandingData>(const Request&)> data);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_LANDING_PAGE_H_
