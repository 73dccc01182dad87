#include "agent/sensor/vital_groups.h"

#include <linux/perf_event.h>

#include "absl/strings/str_cat.h"
#include "agent/vitals/vitals.h"
#include "sketch/layout.h"
#include "sketch/vital_ids.h"

namespace telltale::agent {
namespace {

// A core that waits for memory all the time misses some 50 million lines a second: at most 800
// interrupts then, and a core at work within its caches hardly notices. Reasoned, not measured: no
// machine with such a counter was at hand.
constexpr PerfCounter kCacheMisses = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 65536};

}  // namespace

VitalGroup CutGroup() {
  return {"cut", {}, {{{"start_beat", "flush_cpu", "pass"}, "iter/task", ""}}};
}

std::vector<VitalGroup> VitalGroups() {
  std::vector<VitalGroup> groups = {
      {"sched",
       {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING},
       {{{"on_switch", "on_switch_exit", "on_waking"},
         "tp_btf/sched_switch + sched_exit_tp + sched_waking",
         ""},
        {{"on_switch", "on_switch_exit"},
         "tp_btf/sched_switch + sched_exit_tp",
         "who woke a task is not known"},
        {{"on_switch", "on_schedule_exit", "on_waking"},
         "tp_btf/sched_switch + sched_waking, fexit/schedule",
         "tasks that gave way inside the kernel have no user stacks"},
        {{"on_switch"},
         "tp_btf/sched_switch",
         "who woke a task is not known, waits have kernel stacks only"}}},
      {"lifecycle",
       {},
       {{{"on_exec", "on_exit", "on_oom"}, "tp_btf/sched_process_exec, _exit, mark_victim", ""},
        {{"on_exec", "on_exit_of_task", "on_oom"},
         "tp_btf/sched_process_exec, _exit, mark_victim",
         "the memory of processes that end is not known"},
        {{"on_exec", "on_exit_of_task", "on_oom_of_pid"},
         "tp_btf/sched_process_exec, _exit, mark_victim",
         "the memory of processes that end is not known"},
        {{"on_exec", "on_exit_of_task"}, "tp_btf/sched_process_exec, _exit", "no OOM events"}}},
      {"departure",
       {},
       {{{"on_departure", "on_replacement"}, "tp_btf/sched_process_exit, sched_prepare_exec", ""}}},
      {"irq",
       {TELLTALE_SOFTIRQ},
       {{{"on_softirq", "on_softirq_exit", "on_irq", "on_irq_exit"}, "tp_btf/softirq_entry", ""},
        {{"on_softirq", "on_softirq_exit"},
         "tp_btf/softirq_entry",
         "work in device interrupts is charged to the interrupted process"}}},
      {"tick",
       {TELLTALE_CPU},
       {{{"on_timer", "on_timer_exit"}, "tp_btf/local_timer_entry", ""},
        {{"on_hrtimer"},
         "tp_btf/hrtimer_expire_entry",
         "work in timer interrupts is charged to the interrupted process"}}},
      {"disk",
       {TELLTALE_DISK_IO},
       {{{"on_issue", "on_complete", "on_requeue"}, "tp_btf/block_rq_issue + _complete", ""},
        {{"on_issue", "on_complete"},
         "tp_btf/block_rq_issue + _complete",
         "requests issued again are counted twice"}}},
      {"memory",
       {TELLTALE_USER_PAGE, TELLTALE_KERNEL_PAGE},
       {{{"on_fault", "on_alloc", "on_free"},
         "tp_btf/page_fault_user, mm_page_alloc, mm_page_free",
         ""}}},
      {"syscall", {TELLTALE_SYSCALL}, {{{"on_syscall"}, "tp_btf/sys_exit", ""}}},
      {"signal",
       {TELLTALE_SIGNAL},
       {{{"on_generate", "on_deliver"}, "tp_btf/signal_generate, signal_deliver", ""}}},
      {"socket",
       {TELLTALE_SOCKET},
       {{{"on_send", "on_receive"}, "tp_btf/sock_send_length, sock_recv_length", ""},
        {{"on_inet_sendmsg", "on_inet6_sendmsg", "on_stream_sendmsg", "on_dgram_sendmsg",
          "on_inet_sendpage", "on_recvmsg"},
         "fexit/inet_sendmsg, unix_stream_sendmsg, ..., sock_recvmsg",
         "what is sent over other sockets than IP and UNIX is not seen, and of several messages "
         "that one recvmmsg receives only the first"}}},
      {"lock",
       {TELLTALE_LOCK},
       {{{"on_contention", "on_contention_end"}, "tp_btf/contention_begin, contention_end", ""}}},
      {"reclaim",
       {TELLTALE_RECLAIM},
       {{{"on_global", "on_global_end", "on_cgroup", "on_cgroup_end"},
         "tp_btf/mm_vmscan_direct_reclaim_begin, memcg_reclaim_begin",
         ""},
        {{"on_global", "on_global_end"},
         "tp_btf/mm_vmscan_direct_reclaim_begin",
         "reclaim for a cgroup's limit is not seen"}}},
      {"retransmit", {TELLTALE_RETRANSMIT}, {{{"on_retransmit"}, "tp_btf/tcp_retransmit_skb", ""}}},
      {"llc", {TELLTALE_LLC}, {{{"on_miss"}, "perf_event/cache-misses", "", kCacheMisses}}},
  };
  for (const sketch::Vital& vital : LocalVitals()) {
    groups.push_back({absl::StrCat("local_", std::string(vital.name)), {vital.id}, {Rung{}}});
  }
  return groups;
}

uint32_t ExitHookOf(const Rung& rung) {
  for (const std::string& program : rung.programs) {
    if (program == "on_switch_exit") return TELLTALE_EXIT_SWITCH;
    if (program == "on_schedule_exit") return TELLTALE_EXIT_SCHEDULE;
  }
  return TELLTALE_EXIT_NONE;
}

uint8_t VitalOfProgram(const std::vector<uint8_t>& vitals, std::string_view program) {
  if (program == "on_alloc" || program == "on_free") return TELLTALE_KERNEL_PAGE;
  if (program == "on_waking") return TELLTALE_BLOCKING;
  return vitals.empty() ? uint8_t{0} : vitals.front();
}

}  // namespace telltale::agent
