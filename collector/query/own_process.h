// Whether an executable is Telltale's own, for those who want to see a host without what watches
// it.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_OWN_PROCESS_H_
#define TELLTALE_COLLECTOR_QUERY_OWN_PROCESS_H_

#include <string_view>

namespace telltale::query {

// By the last part of its path: telltale, telltale-agent, telltale-collector; a program that takes
// such a name is taken for ours.
bool OwnProcess(std::string_view exe);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_OWN_PROCESS_H_
