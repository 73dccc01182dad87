// A name for a new bundle where none was asked for.
//
// Any thread.

#ifndef TELLTALE_CONFIG_BUNDLE_FREE_NAME_H_
#define TELLTALE_CONFIG_BUNDLE_FREE_NAME_H_

#include <string>

namespace telltale::bundle {

// `name`, or name-2, name-3 ..., up to name-99: the first for which no NAME.tar.gz stands in the
// present directory. Who writes it must still refuse to replace a file that came meanwhile.
std::string FreeName(const std::string& name);

}  // namespace telltale::bundle

#endif  // TELLTALE_CONFIG_BUNDLE_FREE_NAME_H_
