// Where the log goes: standard error, as text or as one JSON object a line. Called by main at the
// start and on reload.

#ifndef TELLTALE_COLLECTOR_LOGGING_H_
#define TELLTALE_COLLECTOR_LOGGING_H_

#include <string>

namespace telltale::collector {

// Level and format as in Config.
void SetUpLogging(const std::string& level, const std::string& format);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_LOGGING_H_
