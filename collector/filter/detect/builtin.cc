#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/rules.h"
#include "collector/filter/ewma.h"

namespace telltale::filter {

std::vector<const telltale_filter*> BuiltinFilters() {
  return {telltale_ewma_filter(), LevelShiftFilter(),    SeasonalFilter(),         NewLabelFilter(),
          AffinityFilter(),       SortFilter(),          BusyLoopFilter(),         LeakFilter(),
          DescriptorLeakFilter(), UngratifiedIoFilter(), KernelBottleneckFilter(), BlockedFilter(),
          LowMemoryFilter(),      HeldFromCpuFilter(),   FailingCallFilter(),      LoadFilter(),
          VanishedFilter(),       CrashLoopFilter()};
}

}  // namespace telltale::filter
