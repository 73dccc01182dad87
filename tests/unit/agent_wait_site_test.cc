// Where in the kernel a task waits, told from the names of its stack.

#include <gtest/gtest.h>

#include "agent/epoch/wait_site.h"

namespace telltale::agent {
namespace {

TEST(WaitSiteTest, PassesOverWhatAllWaitsHaveInCommon) {
  EXPECT_EQ(WaitSiteOf({"bpf_prog_1_x", "__traceiter_sched_switch", "__schedule", "schedule",
                        "request_wait_answer", "__fuse_simple_request", "fuse_lookup_name",
                        "do_syscall_64"}),
            "request_wait_answer < __fuse_simple_request");
  EXPECT_EQ(WaitSiteOf({"__schedule", "schedule", "schedule_preempt_disabled",
                        "rwsem_down_write_slowpath", "down_write", "ext4_dio_write_iter",
                        "ext4_file_write_iter"}),
            "ext4_dio_write_iter < ext4_file_write_iter");
  EXPECT_EQ(WaitSiteOf({"io_schedule", "folio_wait_bit_common", "filemap_fault.constprop.0"}),
            "filemap_fault");
}

TEST(WaitSiteTest, EndsWhereTheSystemCallBegan) {
  EXPECT_EQ(WaitSiteOf({"schedule", "do_nanosleep", "__x64_sys_clock_nanosleep", "do_syscall_64",
                        "entry_SYSCALL_64_after_hwframe"}),
            "do_nanosleep");
  EXPECT_EQ(WaitSiteOf({"__schedule", "schedule", "", "do_syscall_64", "other"}), "");
  EXPECT_EQ(WaitSiteOf({}), "");
}

}  // namespace
}  // namespace telltale::agent
