#include "agent/sensor/record_decoder.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "agent/vitals/vitals.h"

namespace telltale::agent {
namespace {

std::array<char, 16> Comm(const char (&comm)[16]) {
  std::array<char, 16> out{};
  memcpy(out.data(), comm, sizeof(comm));
  out.back() = 0;
  return out;
}

// `bytes`: length of the stack in `frames`, or a negative errno.
void CopyFrames(int32_t bytes, const uint64_t* frames, size_t limit, std::vector<uint64_t>& out,
                int& error) {
  if (bytes < 0) {
    error = -bytes;
    return;
  }
  const size_t count = std::min(static_cast<size_t>(bytes) / sizeof(uint64_t), limit);
  out.assign(frames, frames + count);
}

void CopyKernelFrames(int32_t bytes, const uint64_t* frames, size_t limit, RawStack& stack) {
  CopyFrames(bytes, frames, limit, stack.kernel, stack.kernel_errno);
  stack.kernel_cut = stack.kernel.size() == limit;
}

// Place of each register (DWARF's number) in the kernel's pt_regs (asm/ptrace.h).
constexpr size_t kInPtRegs[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};

RawPeer Peer(const telltale_sample& record) {
  RawPeer peer;
  peer.tid = record.peer.tid;
  peer.tgid = record.peer.tgid;
  peer.start_ns = record.peer.start_ns;
  peer.comm = Comm(record.peer.comm);
  peer.stack.kernel_wanted = record.peer_bytes != 0;
  CopyKernelFrames(record.peer_bytes, record.peer_kernel, TELLTALE_PEER_FRAMES, peer.stack);
  return peer;
}

}  // namespace

uint32_t RecordKind(const void* data, size_t size) {
  if (size < sizeof(uint32_t)) return 0;
  uint32_t kind = 0;
  memcpy(&kind, data, sizeof(kind));
  size_t needed = sizeof(telltale_event);
  if (kind == TELLTALE_RECORD_SAMPLE) needed = sizeof(telltale_sample);
  if (kind == TELLTALE_RECORD_ROW) needed = sizeof(telltale_row);
  if (kind == TELLTALE_RECORD_COPY) needed = sizeof(telltale_copy);
  return size < needed ? 0 : kind;
}

ExeId DecodeExe(const telltale_exe& exe) {
  ExeId id;
  id.device = exe.device;
  id.inode = exe.inode;
  id.generation = exe.generation;
  return id;
}

RawSample DecodeSample(const telltale_sample& record) {
  RawSample s;
  s.mono_ns = record.time_ns;
  if (record.vital - 1U < Vitals().size()) s.vital = Vitals()[record.vital - 1U].id;
  s.sub = record.sub;
  s.open = (record.flags & TELLTALE_SAMPLE_OPEN) != 0;
  s.of_pass = (record.flags & TELLTALE_SAMPLE_OF_PASS) != 0;
  s.in_irq = (record.flags & TELLTALE_SAMPLE_IRQ) != 0;
  s.cpu = record.cpu;
  s.tid = record.who.tid;
  s.tgid = record.who.tgid;
  s.uid = record.who.uid;
  s.comm = Comm(record.who.comm);
  s.start_ns = record.who.start_ns;
  s.parent = record.who.parent;
  s.cgroup_id = record.who.cgroup;
  s.exe = DecodeExe(record.who.exe);
  s.weight = record.weight;
  s.cell_before = record.before;
  s.cell_after = record.before + record.weight;
  s.label_hash = record.hash;
  s.t_log2 = record.t_log2;
  s.duty_ppm = 1'000'000U >> std::min<uint64_t>(record.duty_log2, 19);
  std::ranges::copy(record.label, s.label.begin());
  std::ranges::copy(record.detail, s.detail.begin());
  if (record.address_family == 4 || record.address_family == 6) {
    for (size_t i = 0; i < s.addresses.size(); ++i) {
      s.addresses[i].family = record.address_family;
      std::ranges::copy(record.address[i], s.addresses[i].bytes.begin());
    }
  }
  RawStack& stack = s.stack;
  stack.kernel_wanted = (record.flags & TELLTALE_SAMPLE_KSTACK) != 0;
  stack.user_wanted = (record.flags & TELLTALE_SAMPLE_USTACK) != 0;
  if (stack.kernel_wanted) {
    CopyKernelFrames(record.kernel_bytes, record.kernel, TELLTALE_KERNEL_FRAMES, stack);
  }
  if (stack.user_wanted) {
    CopyFrames(record.user_bytes, record.user, TELLTALE_USER_FRAMES, stack.user, stack.user_errno);
    stack.user_end = stack.user.size() == TELLTALE_USER_FRAMES ? UserEnd::kDepth
                     : stack.user.empty()                      ? UserEnd::kUnreadable
                                                               : UserEnd::kFramePointers;
  }
  if (s.vital == TELLTALE_SCHED_DELAY) s.ran_instead = Peer(record);
  if (s.vital == TELLTALE_BLOCKING) s.waker = Peer(record);
  if (s.vital == TELLTALE_LOCK) s.holder = Peer(record);
  return s;
}

UserCopy DecodeCopy(const telltale_copy& record, size_t size) {
  UserCopy copy;
  static_assert(std::size(kInPtRegs) == std::tuple_size_v<decltype(copy.registers)>);
  for (size_t i = 0; i < copy.registers.size(); ++i) {
    copy.registers[i] = record.registers[kInPtRegs[i]];
  }
  copy.stack_address = record.address;
  copy.stack = {reinterpret_cast<const char*>(&record + 1),
                std::min<size_t>(record.bytes, size - sizeof(record))};
  return copy;
}

RawDeparture DecodeDeparture(const telltale_departure& record) {
  RawDeparture d;
  d.tgid = record.who.tgid;
  d.start_ns = record.who.start_ns;
  d.exe = DecodeExe(record.who.exe);
  d.mono_ns = record.time_ns;
  d.cut = record.cut != 0 || record.regions > TELLTALE_DEPARTED_REGIONS;
  const size_t count = std::min<size_t>(record.regions, TELLTALE_DEPARTED_REGIONS);
  for (size_t i = 0; i < count; ++i) {
    const telltale_region& r = record.region[i];
    d.regions.push_back({r.start, r.start + (uint64_t{r.pages} << TELLTALE_PAGE_LOG2),
                         uint64_t{r.file_page} << TELLTALE_PAGE_LOG2, r.device, r.inode,
                         record.vdso != 0 && r.start == record.vdso});
  }
  return d;
}

RawEvent DecodeEvent(const telltale_event& record) {
  RawEvent e;
  e.mono_ns = record.time_ns;
  e.kind = record.kind == TELLTALE_RECORD_EXEC   ? RawEventKind::kExec
           : record.kind == TELLTALE_RECORD_EXIT ? RawEventKind::kExit
                                                 : RawEventKind::kOom;
  e.tgid = record.who.tgid;
  e.uid = record.who.uid;
  e.comm = Comm(record.who.comm);
  e.start_ns = record.who.start_ns;
  e.cgroup_id = record.who.cgroup;
  e.exe = DecodeExe(record.who.exe);
  if (e.kind == RawEventKind::kExit) {
    e.exit_code = record.code;
    e.exit_signal = record.code & 0x7f;
    e.count = std::max(record.unfollowed, 1U);
  }
  if (e.kind == RawEventKind::kExec) {
    e.path.assign(record.path, strnlen(record.path, sizeof(record.path)));
    e.script = record.code != 0;
  }
  return e;
}

}  // namespace telltale::agent
