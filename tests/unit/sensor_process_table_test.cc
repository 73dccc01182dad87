// From rows of tasks to rows of processes.

#include "agent/sensor/process_table.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "agent/sensor/epoch_reader.h"
#include "gtest/gtest.h"
#include "sketch/vitals.h"

namespace telltale::agent {
namespace {

constexpr int kSub = TELLTALE_SUBS_SYSCALL;

telltale_row Row(uint32_t tgid, uint32_t tid, const char* comm, uint64_t calls) {
  telltale_row row = {};
  row.who.tgid = tgid;
  row.who.tid = tid;
  row.who.start_ns = 1000 + tgid;
  strncpy(row.who.comm, comm, sizeof(row.who.comm) - 1);
  row.task_ns = 100;
  row.used.run_ns = 10;
  row.did.share[kSub] = {calls, calls};
  return row;
}

// An epoch whose only total is `calls` system calls.
RawEpoch EpochWith(uint64_t calls) {
  RawEpoch epoch;
  for (const sketch::Vital& vital : sketch::Vitals()) {
    RawVital raw;
    raw.id = vital.id;
    raw.subs.resize(vital.subs.size());
    epoch.vitals.push_back(raw);
  }
  epoch.vitals[TELLTALE_SYSCALL - 1].subs[TELLTALE_SYSCALL_OK] = {calls, calls, {}};
  return epoch;
}

TEST(ProcessTableTest, AddsThreadsToOneRowNamedByTheLeader) {
  ProcessTable table(10);
  table.Add(Row(7, 8, "worker", 3));
  table.Add(Row(7, 7, "server", 2));
  table.Add(Row(7, 9, "helper", 1));
  RawEpoch epoch = EpochWith(6);
  table.Finish(epoch);
  ASSERT_EQ(epoch.processes.size(), 2U);  // and [irq]
  const RawProcess& process = epoch.processes[0];
  EXPECT_STREQ(process.comm.data(), "server");
  EXPECT_EQ(process.threads, 3U);
  EXPECT_EQ(process.run_ns, 30U);
  ASSERT_EQ(process.shares.size(), 1U);
  EXPECT_EQ(process.shares[0].vital, TELLTALE_SYSCALL);
  EXPECT_EQ(process.shares[0].weight, 6U);
  EXPECT_EQ(epoch.task_ns, 300U);
  EXPECT_TRUE(epoch.other.shares.empty());
}

TEST(ProcessTableTest, KeepsTwoProcessesThatHadTheSamePidApart) {
  ProcessTable table(10);
  telltale_row later = Row(7, 7, "later", 1);
  later.who.start_ns += 5;
  table.Add(Row(7, 7, "first", 1));
  table.Add(later);
  RawEpoch epoch = EpochWith(2);
  table.Finish(epoch);
  EXPECT_EQ(epoch.processes.size(), 3U);
}

TEST(ProcessTableTest, ManyShortLivesLeaveRoomForWhatIsThereAtTheCut) {
  ProcessTable table(8, 1'000);
  for (uint32_t pid = 10; pid < 110; ++pid) {
    telltale_row life = Row(pid, pid, "cc1plus", 3);
    life.who.exe = {.inode = 77, .device = 8, .generation = 0};
    life.exited = 1;
    table.Add(life);
  }
  telltale_row older = Row(5, 5, "make", 2);
  older.who.start_ns = 999;  // began before
  older.who.exe = {.inode = 78, .device = 8, .generation = 0};
  older.exited = 1;
  table.Add(older);
  table.Add(Row(900, 900, "postgres", 4));
  RawEpoch epoch = EpochWith(306);
  table.Finish(epoch);
  uint64_t lives = 0, calls = 0;
  bool has_make = false, has_postgres = false;
  for (const RawProcess& process : epoch.processes) {
    const std::string comm = process.comm.data();
    has_make = has_make || comm == "make";
    has_postgres = has_postgres || comm == "postgres";
    if (comm == "cc1plus") lives += process.instances;
    for (const auto& share : process.shares) calls += share.weight;
  }
  EXPECT_TRUE(has_make && has_postgres);
  EXPECT_EQ(lives, 100u);
  EXPECT_EQ(calls, 306u);
  EXPECT_TRUE(epoch.losses.empty());
}

TEST(ProcessTableTest, GivesToOtherWhatHasNoRowSoThatTheSumIsTheTotal) {
  ProcessTable table(1);
  table.Add(Row(1, 1, "kept", 4));
  table.Add(Row(2, 2, "too many", 5));
  std::array<telltale_total, TELLTALE_SUBS> irq = {};
  irq[kSub] = {2, 2};
  table.AddIrq(irq.data());
  RawEpoch epoch = EpochWith(20);
  table.Finish(epoch);
  ASSERT_EQ(epoch.other.shares.size(), 1U);
  EXPECT_EQ(epoch.other.shares[0].weight, 14U);  // 5 over the limit and 9 of lost rows
  ASSERT_EQ(epoch.losses.size(), 1U);
  EXPECT_EQ(epoch.losses[0].kind, LossKind::kRowLimit);
  EXPECT_EQ(epoch.losses[0].events, 1U);
}

telltale_event Exit(uint32_t tgid, uint64_t inode) {
  telltale_event exit = {};
  exit.kind = TELLTALE_RECORD_EXIT;
  exit.who.tgid = exit.who.tid = tgid;
  exit.who.start_ns = 1000 + tgid;
  exit.who.exe.inode = inode;
  strncpy(exit.who.comm, "forks", sizeof(exit.who.comm) - 1);
  exit.unfollowed = 1;
  exit.used.run_ns = 5;
  exit.used.faults_minor = 2;
  return exit;
}

TEST(ProcessTableTest, OfProcessesThatWereNotFollowedEachProgramHasOneRowWithTheirNumber) {
  ProcessTable table(10);
  for (uint32_t tgid = 1; tgid <= 500; ++tgid) table.AddUnfollowed(Exit(tgid, 41));
  telltale_event together = Exit(501, 41);
  together.unfollowed = 200;
  together.used.run_ns = 1'000;
  together.used.faults_minor = 400;
  table.AddUnfollowed(together);
  table.AddUnfollowed(Exit(701, 42));
  RawEpoch epoch = EpochWith(0);
  table.Finish(epoch);
  ASSERT_EQ(epoch.processes.size(), 3U);  // and [irq]
  const RawProcess& many = epoch.processes[0];
  EXPECT_STREQ(many.comm.data(), "forks");
  EXPECT_EQ(many.instances, 700U);
  EXPECT_EQ(many.run_ns, 3'500U);
  EXPECT_EQ(many.faults_minor, 1'400U);
  EXPECT_TRUE(many.exited);
  EXPECT_EQ(epoch.processes[1].instances, 1U);
  EXPECT_TRUE(epoch.losses.empty()) << "700 took one place";
}

}  // namespace
}  // namespace telltale::agent
