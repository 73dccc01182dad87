// The rules of Chopstix 3.2, by their number there. Rule 2 is the detector `leak`, rule 10 the
// detector `vanished` (detectors.h) and, for what comes back, CrashLoopFilter.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_RULES_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_RULES_H_

#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

const telltale_filter* BusyLoopFilter();          // 1
const telltale_filter* UngratifiedIoFilter();     // 3
const telltale_filter* KernelBottleneckFilter();  // 4
const telltale_filter* BlockedFilter();           // 5
const telltale_filter* LowMemoryFilter();         // 6
const telltale_filter* HeldFromCpuFilter();       // 7
const telltale_filter* FailingCallFilter();       // 8
const telltale_filter* LoadFilter();              // 9
const telltale_filter* CrashLoopFilter();         // 10

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_RULES_H_
