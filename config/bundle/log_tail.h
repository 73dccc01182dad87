// The end of a log, for a bundle. Free functions; any thread.

#ifndef TELLTALE_CONFIG_BUNDLE_LOG_TAIL_H_
#define TELLTALE_CONFIG_BUNDLE_LOG_TAIL_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace telltale::bundle {

// The last `keep_bytes` of it, and how much stands before; what could not be read says why, so that
// the reader of the bundle knows.
std::string LogTail(const std::string& path, size_t keep_bytes = 4 << 20);

// Adds the tail of each log as logs/N-NAME.
void AddLogs(const std::vector<std::string>& paths, std::map<std::string, std::string>& files);

}  // namespace telltale::bundle

#endif  // TELLTALE_CONFIG_BUNDLE_LOG_TAIL_H_
