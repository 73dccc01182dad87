// What the HTTPS server takes from the configuration: where it listens, its certificates and every
// limit. Pure.

#ifndef TELLTALE_COLLECTOR_HTTP_OPTIONS_H_
#define TELLTALE_COLLECTOR_HTTP_OPTIONS_H_

#include "collector/config.h"
#include "collector/web/http_server.h"
#include "config/values.h"

namespace telltale::collector {

// `listen`: listen.https of `config`, parsed; an empty host is every interface.
web::HttpServerOptions HttpOptionsOf(const Config& config, const config::Address& listen);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_HTTP_OPTIONS_H_
