#include "collector/filter/detect/victims.h"

#include <csignal>

namespace telltale::filter {

std::set<uint32_t> NamelessVictims(const telltale_filter_epoch& epoch) {
  std::set<uint32_t> pids;
  for (uint32_t i = 0; i < epoch.event_count; ++i) {
    const auto& event = *TELLTALE_FILTER_AT(telltale_filter_event, epoch.events, i);
    const bool nameless = event.type == TELLTALE_EVENT_OOM && event.exe[0] == '\0';
    if (nameless && event.pid != 0) pids.insert(event.pid);
  }
  return pids;
}

bool IsExitOf(const std::set<uint32_t>& victims, const telltale_filter_event& exit) {
  return exit.exit_signal == SIGKILL && victims.contains(exit.pid);
}

}  // namespace telltale::filter
