// Where the log of every process goes: standard error, as text or as one JSON object a line, times
// in UTC. Called before the first line and on reload, by the thread that owns the settings.

#ifndef TELLTALE_CONFIG_LOGGING_H_
#define TELLTALE_CONFIG_LOGGING_H_

#include <string>

namespace telltale::config {

// `level`: trace | debug | info | warning | error; `format`: text | json.
void SetUpLogging(const std::string& level, const std::string& format);

}  // namespace telltale::config

#endif  // TELLTALE_CONFIG_LOGGING_H_
