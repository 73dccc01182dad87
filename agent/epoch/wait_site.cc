#include "agent/epoch/wait_site.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr std::string_view kCommon[] = {
    "schedule",
    "io_schedule",
    "preempt_schedule",
    "wait_for_completion",
    "wait_for_common",
    "bit_wait",
    "wait_on_bit",
    "out_of_line_wait_on_bit",
    "prepare_to_wait",
    "finish_wait",
    "mutex_lock",
    "rwsem_down",
    "down_read",
    "down_write",
    "down_interruptible",
    "down_killable",
    "down_timeout",
    "rt_mutex",
    "folio_wait_bit",
    "do_wait_intr",
    "context_switch",
    "bpf_",
    "traceiter_",
    "trace_event",
    "perf_trace",
    "futex_wait_queue",
    "futex_do_wait",
    "autoremove_wake",
    "ftrace",
};
// Behind it is user space.
constexpr std::string_view kEntries[] = {"do_syscall",   "__x64_sys_",    "__arm64_sys_",
                                         "entry_",       "el0_",          "invoke_syscall",
                                         "x64_sys_call", "ret_from_fork", "asm_exc_"};

bool Begins(std::string_view name, std::string_view with) {
  while (name.starts_with('_') && !with.starts_with('_')) name.remove_prefix(1);
  return name.starts_with(with);
}

}  // namespace

std::string WaitSiteOf(const std::vector<std::string>& functions) {
  std::string site;
  int named = 0;
  for (const std::string& function : functions) {
    // A part of a function that the compiler cut off: "f.constprop.0", "f.isra.0".
    const std::string_view name = std::string_view(function).substr(0, function.find('.'));
    const auto begins = [&](std::string_view with) { return Begins(name, with); };
    if (std::ranges::any_of(kEntries, begins)) break;
    if (name.empty() || std::ranges::any_of(kCommon, begins)) continue;
    absl::StrAppend(&site, named == 0 ? "" : " < ", std::string(name));
    if (++named == 2) break;
  }
  return site;
}

}  // namespace telltale::agent
