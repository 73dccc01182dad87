// Log lines of all processes, on standard error, text or JSON. Called once by each before it logs.

#ifndef TELLTALE_AGENT_LOGGING_H_
#define TELLTALE_AGENT_LOGGING_H_

#include <string>

namespace telltale::agent {

// `level`: trace | debug | info | warning | error; `format`: text | json, one object a line.
void SetUpLogging(const std::string& level, const std::string& format);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_LOGGING_H_
