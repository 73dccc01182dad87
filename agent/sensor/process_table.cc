#include "agent/sensor/process_table.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "agent/sensor/epoch_reader.h"
#include "agent/sensor/record_decoder.h"
#include "agent/vitals/vitals.h"

namespace telltale::agent {
namespace {

void SetComm(std::string_view name, RawProcess& process) {
  std::ranges::copy(name, process.comm.begin());
}

// What the kernel accounts to a task, to the process it is of.
void AddAccounts(const telltale_accounts& used, RawProcess& to) {
  to.run_ns += used.run_ns;
  to.user_ns += used.user_ns;
  to.system_ns += used.system_ns;
  to.switches_voluntary += used.voluntary;
  to.switches_involuntary += used.involuntary;
  to.faults_minor += used.faults_minor;
  to.faults_major += used.faults_major;
  to.read_bytes += used.read_bytes;
  to.write_bytes += used.write_bytes;
}

// All of one process to those of its program.
void AddLife(const RawProcess& one, RawProcess& all) {
  all.instances += one.instances;
  all.start_ns = std::min(all.start_ns, one.start_ns);
  all.threads += one.threads;
  all.rss_pages += one.rss_pages;
  all.own_pages += one.own_pages;
  all.open_files += one.open_files;
  all.run_ns += one.run_ns;
  all.user_ns += one.user_ns;
  all.system_ns += one.system_ns;
  all.switches_voluntary += one.switches_voluntary;
  all.switches_involuntary += one.switches_involuntary;
  all.faults_minor += one.faults_minor;
  all.faults_major += one.faults_major;
  all.read_bytes += one.read_bytes;
  all.write_bytes += one.write_bytes;
  all.on_cpu_ns += one.on_cpu_ns;
  all.queue_ns += one.queue_ns;
  all.blocked_ns += one.blocked_ns;
  all.task_ns += one.task_ns;
}

}  // namespace

bool ProcessTable::IsWhole(const RawProcess& process) const {
  return process.exited && process.exe.inode != 0 && process.start_ns >= epoch_start_ns_;
}

// A process whose last thread ends after its first has a row of its own again.
void ProcessTable::FoldLives() {
  for (auto row = rows_.begin(); row != rows_.end();) {
    Entry& entry = row->second;
    const RawProcess& one = entry.process;
    if (!IsWhole(one)) {
      ++row;
      continue;
    }
    const Program program{one.exe.inode, one.exe.device, one.exe.generation, one.uid,
                          one.cgroup_id};
    const auto [all, fresh] = lives_.try_emplace(program);
    if (fresh) {
      all->second = std::move(entry);
    } else {
      AddLife(one, all->second.process);
      if (!entry.shares.empty()) AddShares(entry.shares.data(), all->second);
    }
    row = rows_.erase(row);
  }
  whole_ = 0;
}

void ProcessTable::AddShares(const telltale_total* totals, Entry& entry) {
  if (entry.shares.empty()) entry.shares.resize(TELLTALE_SUBS);
  for (unsigned i = 0; i < TELLTALE_SUBS; ++i) {
    entry.shares[i].events += totals[i].events;
    entry.shares[i].weight += totals[i].weight;
  }
}

void ProcessTable::Add(const telltale_row& row) {
  const auto key = std::make_pair(row.who.tgid, row.who.start_ns);
  auto it = rows_.find(key);
  if (it == rows_.end()) {
    // Not for each of the last few: a look at all rows costs more than a row says.
    if (IsFull() && whole_ > max_rows_ / 16) FoldLives();
    if (IsFull()) {
      ++over_limit_;
    } else {
      it = rows_.emplace(key, Entry{}).first;
      RawProcess& fresh = it->second.process;
      fresh.tgid = row.who.tgid;
      fresh.start_ns = row.who.start_ns;
    }
  }
  Entry& entry = it == rows_.end() ? other_ : it->second;
  RawProcess& p = entry.process;
  if (it != rows_.end()) {
    // The leader speaks for the process; another thread only until it is seen.
    const bool leader = row.who.tid == row.who.tgid;
    if (leader || p.threads == 0) {
      memcpy(p.comm.data(), row.who.comm, p.comm.size());
      p.comm.back() = 0;
      p.uid = row.who.uid;
      p.cgroup_id = row.who.cgroup;
      if (row.who.exe.inode != 0 || p.exe.inode == 0) p.exe = DecodeExe(row.who.exe);
      if (leader && row.exited != 0) {
        p.exited = true;
        whole_ += IsWhole(p) ? 1 : 0;
      }
    }
  }
  p.threads += 1;
  p.rss_pages = std::max<uint64_t>(p.rss_pages, row.memory.rss_pages);
  p.own_pages = std::max<uint64_t>(p.own_pages, row.memory.own_pages);
  p.open_files = std::max<uint64_t>(p.open_files, row.open_files);
  AddAccounts(row.used, p);
  p.on_cpu_ns += row.did.run_ns;
  p.queue_ns += row.did.queue_ns;
  p.blocked_ns += row.did.blocked_ns;
  p.task_ns += row.task_ns;
  task_ns_ += row.task_ns;
  AddShares(row.did.share, entry);
}

void ProcessTable::AddUnfollowed(const telltale_event& exit) {
  const telltale_who& who = exit.who;
  const Program program{who.exe.inode, who.exe.device, who.exe.generation, who.uid, who.cgroup};
  auto it = unfollowed_.find(program);
  const bool first = it == unfollowed_.end();
  if (first) {
    if (IsFull()) {
      over_limit_ += exit.unfollowed;
      return;
    }
    it = unfollowed_.emplace(program, RawProcess{}).first;
  }
  RawProcess& all = it->second;
  if (first) {
    all.tgid = who.tgid;
    memcpy(all.comm.data(), who.comm, all.comm.size());
    all.comm.back() = 0;
    all.uid = who.uid;
    all.cgroup_id = who.cgroup;
    all.exe = DecodeExe(who.exe);
    all.exited = true;
  }
  all.instances += exit.unfollowed - (first ? 1 : 0);
  all.start_ns = std::max(all.start_ns, who.start_ns);
  all.threads += exit.unfollowed;
  AddAccounts(exit.used, all);
}

void ProcessTable::AddIrq(const telltale_total* totals) {
  SetComm("[irq]", irq_.process);
  AddShares(totals, irq_);
}

RawProcess ProcessTable::Close(Entry&& entry) {
  for (unsigned i = 0; i < entry.shares.size(); ++i) {
    if (entry.shares[i].events == 0 && entry.shares[i].weight == 0) continue;
    const DenseSub where = DenseSubs()[i];
    entry.process.shares.push_back(
        {where.vital, where.sub, entry.shares[i].events, entry.shares[i].weight});
  }
  return std::move(entry.process);
}

void ProcessTable::Finish(RawEpoch& epoch) {
  std::vector<telltale_total> given(TELLTALE_SUBS);
  const auto add = [&given](const Entry& entry) {
    for (unsigned i = 0; i < entry.shares.size(); ++i) {
      given[i].events += entry.shares[i].events;
      given[i].weight += entry.shares[i].weight;
    }
  };
  for (const auto& [key, entry] : rows_) add(entry);
  for (const auto& [program, entry] : lives_) add(entry);
  add(irq_);
  add(other_);
  std::vector<telltale_total> rest(TELLTALE_SUBS);
  for (unsigned i = 0; i < TELLTALE_SUBS; ++i) {
    const DenseSub where = DenseSubs()[i];
    const RawSub& total = epoch.vitals[PlaceOf(where.vital)].subs[where.sub];
    if (total.events > given[i].events) rest[i].events = total.events - given[i].events;
    if (total.weight > given[i].weight) rest[i].weight = total.weight - given[i].weight;
  }
  AddShares(rest.data(), other_);
  for (auto& [key, entry] : rows_) epoch.processes.push_back(Close(std::move(entry)));
  for (auto& [program, entry] : lives_) epoch.processes.push_back(Close(std::move(entry)));
  for (auto& [program, all] : unfollowed_) epoch.processes.push_back(std::move(all));
  epoch.processes.push_back(Close(std::move(irq_)));
  SetComm("[other]", other_.process);
  epoch.other = Close(std::move(other_));
  epoch.task_ns = task_ns_;
  if (over_limit_ != 0) epoch.losses.push_back({LossKind::kRowLimit, 0, over_limit_, 0});
}

}  // namespace telltale::agent
