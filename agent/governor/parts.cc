#include "agent/governor/parts.h"

namespace telltale::agent {

std::string_view PartName(Part part) {
  constexpr std::string_view kNames[kParts] = {
      "syscall", "fault",   "pages",     "socket", "signal", "lock", "softirq",
      "switch",  "samples", "unwinding", "rest",   "tasks",  "disk"};
  return kNames[Index(part)];
}

uint8_t MaxLevel(Part part) {
  if (IsCycled(part)) return 7;
  switch (part) {
    case Part::kSwitch:
      return kSwitchCount;
    case Part::kSamples:
      return kTokenLevels + 2;
    case Part::kUnwinding:
      return kUnwindNone;
    case Part::kTasks:
      return 1;
    default:
      return 0;
  }
}

}  // namespace telltale::agent
