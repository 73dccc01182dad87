// Who was killed for want of memory, where the kernel tells no more of it than a process id (before
// Linux 6.8): what that was, its exit says.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_VICTIMS_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_VICTIMS_H_

#include <cstdint>
#include <set>

#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

// Those of an epoch, by process id.
std::set<uint32_t> NamelessVictims(const telltale_filter_epoch& epoch);
// Whether that is the exit of one of them.
bool IsExitOf(const std::set<uint32_t>& victims, const telltale_filter_event& exit);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_VICTIMS_H_
