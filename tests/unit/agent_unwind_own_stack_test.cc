// Stacks of this very process, held frame by frame against what the C++ runtime's own unwinder
// says.

#include <alloca.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "agent/symbols/vdso.h"
#include "agent/unwind/host_unwinder.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {
namespace {

// Of a ucontext's general registers, by DWARF's numbers.
constexpr int kInContext[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

struct Capture {
  std::array<uint64_t, 17> registers{};
  std::vector<char> stack;
  std::vector<uint64_t> truth;  // return addresses, from the capturing function's caller on
};

_Unwind_Reason_Code KeepFrame(_Unwind_Context* context, void* frames) {
  static_cast<std::vector<uint64_t>*>(frames)->push_back(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

// To be inlined into no one: its own frame is the first of both.
__attribute__((noinline)) void Take(Capture* capture) {
  ucontext_t context;
  getcontext(&context);
  for (int reg = 0; reg < 17; ++reg) {
    capture->registers[reg] = static_cast<uint64_t>(context.uc_mcontext.gregs[kInContext[reg]]);
  }
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* low = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  auto* sp = reinterpret_cast<char*>(context.uc_mcontext.gregs[REG_RSP]);
  // By the kernel: a sanitizer objects to reading what lies between the stack's variables.
  capture->stack.resize(static_cast<size_t>(static_cast<char*>(low) + bytes - sp));
  const iovec to{capture->stack.data(), capture->stack.size()};
  const iovec from{sp, capture->stack.size()};
  ASSERT_EQ(process_vm_readv(getpid(), &to, 1, &from, 1, 0),
            static_cast<ssize_t>(capture->stack.size()));
  _Unwind_Backtrace(KeepFrame, &capture->truth);
  if (!capture->truth.empty() && capture->truth.back() == 0) capture->truth.pop_back();
  ASSERT_FALSE(capture->truth.empty());
  capture->truth.erase(capture->truth.begin());  // this function's own
}

__attribute__((noinline)) int Recurse(int depth, const std::function<void()>& then) {
  volatile char room[40] = {};
  if (depth > 0) return Recurse(depth - 1, then) + room[depth % 40];
  then();
  return room[0];
}

__attribute__((noinline)) int Varying(size_t bytes, const std::function<void()>& then) {
  auto* room = static_cast<char*>(alloca(bytes));
  memset(room, 1, bytes);
  const int result = Recurse(3, then);
  return result + room[bytes - 1];
}

__attribute__((noinline)) int Aligned(const std::function<void()>& then) {
  alignas(128) volatile char line[128] = {};
  const int result = Varying(100 + (reinterpret_cast<uintptr_t>(line) & 0x70), then);
  return result + line[5];
}

class OwnStackTest : public ::testing::Test {
 protected:
  static RawSample Walked(const Capture& capture) {
    UserCopy copy;
    copy.registers = capture.registers;
    copy.stack_address = capture.registers[kRsp];
    copy.stack = capture.stack;
    RawSample sample;
    sample.tgid = static_cast<uint32_t>(getpid());
    HostUnwinder unwinder({}, std::make_shared<ProcessMaps>(ProcessMaps::Options{}));
    unwinder.Unwind(copy, sample);
    return sample;
  }
  static void ExpectTruth(const Capture& capture) {
    const RawSample sample = Walked(capture);
    EXPECT_EQ(sample.stack.user_end, UserEnd::kComplete);
    ASSERT_GT(capture.truth.size(), 2u);
    ASSERT_FALSE(sample.stack.user.empty());
    std::vector<uint64_t> callers(sample.stack.user.begin() + 1, sample.stack.user.end());
    EXPECT_EQ(callers, capture.truth);
  }
};

TEST_F(OwnStackTest, PlainCalls) {
  Capture capture;
  Take(&capture);
  ExpectTruth(capture);
}

TEST_F(OwnStackTest, RecursionFramesOfVaryingSizeAndRealignedOnes) {
  Capture capture;
  Aligned([&] { Recurse(20, [&] { Varying(3'000, [&] { Take(&capture); }); }); });
  ExpectTruth(capture);
}

TEST_F(OwnStackTest, AThread) {
  Capture capture;
  std::thread([&] { Aligned([&] { Take(&capture); }); }).join();
  ExpectTruth(capture);
}

TEST_F(OwnStackTest, ThroughTheLibrarysSort) {
  Capture capture;
  std::vector<int> values = {3, 1, 2};
  qsort(values.data(), values.size(), sizeof(int), [](const void* a, const void* b) {
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  std::ranges::sort(values, [&](int a, int b) {
    if (capture.truth.empty()) Take(&capture);
    return a < b;
  });
  ExpectTruth(capture);
}

// As far down a stack as a file's table was once there and is not now; and when there is time
// again, whole: nothing of that is remembered.
TEST_F(OwnStackTest, ATableThatIsPostponedIsThereForALaterStack) {
  Capture capture;
  int values[] = {2, 1};
  const auto take = [](const void*, const void*, void* to) {
    if (static_cast<Capture*>(to)->truth.empty()) Take(static_cast<Capture*>(to));
    return 0;
  };
  qsort_r(values, 2, sizeof(int), take, &capture);
  uint64_t now = 1'000'000'000;
  HostUnwinder::Options options;
  options.tables.memory_bytes = 1;
  options.tables.again = {.burst_ns = 60'000'000, .share = 1};
  options.tables.mono_ns = [&now] { return now; };
  HostUnwinder unwinder(options, std::make_shared<ProcessMaps>(ProcessMaps::Options{}));
  uint64_t sampled_ns = 0;
  const auto walked = [&] {
    RawSample sample;
    sample.tgid = static_cast<uint32_t>(getpid());
    // An address that is not mapped has the maps read anew, and with them all that was found.
    UserCopy nowhere;
    nowhere.registers[kRip] = 16;
    nowhere.stack = capture.stack;
    sample.mono_ns = sampled_ns += 1'000'000'000;
    unwinder.Unwind(nowhere, sample);
    UserCopy copy;
    copy.registers = capture.registers;
    copy.stack_address = capture.registers[kRsp];
    copy.stack = capture.stack;
    unwinder.Unwind(copy, sample);
    return sample.stack;
  };
  ASSERT_EQ(walked().user_end, UserEnd::kComplete);
  UserEnd end = UserEnd::kComplete;  // until what time there is for tables made before is used up
  for (int walks = 0; walks < 1'000 && end == UserEnd::kComplete; ++walks) end = walked().user_end;
  EXPECT_EQ(end, UserEnd::kPostponed);
  now += uint64_t{1'000'000} * 1'000'000'000;
  // The maps stay as they are.
  RawSample sample;
  sample.tgid = static_cast<uint32_t>(getpid());
  sample.mono_ns = sampled_ns;
  UserCopy copy{capture.registers, capture.registers[kRsp], capture.stack};
  unwinder.Unwind(copy, sample);
  EXPECT_EQ(sample.stack.user_end, UserEnd::kComplete);
}

// Tables on disk outlive a kernel, and the code that the next one maps there is another.
TEST_F(OwnStackTest, ATableOfAnotherKernelsVdsoIsNotUsed) {
  const auto base = static_cast<uint64_t>(getauxval(AT_SYSINFO_EHDR));
  const auto vdso = TableCache({}).Find("", OpenVdso).table;
  ASSERT_NE(vdso, nullptr);
  uint64_t entry = vdso->parts().base;
  const auto begins = [&vdso](uint64_t at) {
    const UnwindRule& rule = vdso->At(at);
    return rule.cfa == CfaRule::kRegister && rule.base == kRsp && rule.offset == 8;
  };
  while (!begins(entry)) ++entry;

  telltale::testing::TempDir scratch;
  HostUnwinder::Options options;
  options.tables.store.directory = scratch.path() + "/unwind";
  {
    UnwindTableBuilder other({});
    UnwindRule end;
    end.cfa = CfaRule::kEnd;
    other.BeginFunction(0, 1 << 16);
    other.Add(0, end);
    ASSERT_TRUE(TableStore(options.tables.store).Save("vdso", *other.Finish()));
  }
  const uint64_t stack[] = {reinterpret_cast<uint64_t>(&Take) + 1, 0};
  UserCopy copy;
  copy.registers[kRip] = base + entry;
  copy.registers[kRsp] = copy.stack_address = 0x7000;
  copy.stack = {reinterpret_cast<const char*>(stack), sizeof(stack)};
  RawSample sample;
  sample.tgid = static_cast<uint32_t>(getpid());
  HostUnwinder unwinder(options, std::make_shared<ProcessMaps>(ProcessMaps::Options{}));
  unwinder.Unwind(copy, sample);
  ASSERT_GE(sample.stack.user.size(), 2u);
  EXPECT_EQ(sample.stack.user[1], stack[0]);
}

Capture* g_from_handler = nullptr;

TEST_F(OwnStackTest, ASignalHandlersFrame) {
  Capture capture;
  g_from_handler = &capture;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { Take(g_from_handler); };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  Recurse(4, [] { raise(SIGUSR1); });
  sigaction(SIGUSR1, &before, nullptr);
  g_from_handler = nullptr;

  const RawSample sample = Walked(capture);
  EXPECT_EQ(sample.stack.user_end, UserEnd::kComplete);
  ASSERT_EQ(sample.stack.user.size(), capture.truth.size() + 1);
  int moved = 0;
  for (size_t i = 0; i < capture.truth.size(); ++i) {
    // The interrupted place is told as one byte on.
    const uint64_t off = sample.stack.user[i + 1] - capture.truth[i];
    EXPECT_LE(off, 1u) << i;
    moved += static_cast<int>(off);
  }
  EXPECT_EQ(moved, 1);
}

// Does a bit of everything, in few instructions.
__attribute__((noinline)) int Everything() {
  std::vector<int> values = {5, 3, 9, 1, 7};
  qsort(values.data(), values.size(), sizeof(int), [](const void* a, const void* b) {
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  char text[40];
  snprintf(text, sizeof(text), "%d %.3f", values[0], 0.5 + values[1]);
  return Aligned([] {}) + text[0];
}

// A child that is led through Everything one instruction at a time. Calls and returns are seen as
// they happen, so the stack is known at each instruction, in prologues, epilogues and linkage
// stubs too.
class SteppedChild {
 public:
  SteppedChild() {
    pid_ = fork();
    if (pid_ != 0) return;
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    Everything();
    _exit(0);
  }
  ~SteppedChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool AwaitStop() const {
    int status = 0;
    return waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status);
  }
  bool Step() const {
    return ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) == 0 && AwaitStop();
  }
  Capture Look() const {
    Capture capture;
    user_regs_struct r{};
    ptrace(PTRACE_GETREGS, pid_, nullptr, &r);
    capture.registers = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                         r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
    capture.stack.resize(16'384);
    const iovec here{capture.stack.data(), capture.stack.size()};
    const iovec there{reinterpret_cast<void*>(r.rsp), capture.stack.size()};
    const ssize_t got = process_vm_readv(pid_, &here, 1, &there, 1, 0);
    capture.stack.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return capture;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST_F(OwnStackTest, AtEveryInstruction) {
  const SteppedChild child;
  ASSERT_TRUE(child.AwaitStop());
  HostUnwinder unwinder({}, std::make_shared<ProcessMaps>(ProcessMaps::Options{}));
  // Return addresses, the leaf's last, and where each stands.
  std::vector<std::pair<uint64_t, uint64_t>> truth;
  uint64_t ip = 0, sp = 0;
  int steps = 0, calls = 0;
  for (; steps < 100'000; ++steps) {
    const Capture now = child.Look();
    UserCopy copy{now.registers, now.registers[kRsp], now.stack};
    uint64_t top = 0;
    if (steps > 0 && copy.stack_address + 8 == sp && copy.Read(sp - 8, &top) && top > ip &&
        top - ip <= 7 && now.registers[kRip] != top) {
      truth.emplace_back(top, sp - 8);
      ++calls;
    } else if (!truth.empty() && sp == truth.back().second && copy.stack_address == sp + 8 &&
               now.registers[kRip] == truth.back().first) {
      truth.pop_back();
    }
    ip = now.registers[kRip];
    sp = copy.stack_address;
    RawSample sample;
    sample.tgid = static_cast<uint32_t>(child.pid());
    sample.mono_ns = static_cast<uint64_t>(steps);
    unwinder.Unwind(copy, sample);
    if (steps == 0) {
      // What called raise is taken from the first walk.
      for (size_t i = sample.stack.user.size(); i-- > 1;) {
        truth.emplace_back(sample.stack.user[i], 0);
        for (uint64_t at = sp; truth.back().second == 0 && copy.Read(at, &top); at += 8) {
          if (top == truth.back().first) truth.back().second = at;
        }
      }
    }
    std::vector<uint64_t> expected = {ip};
    for (size_t i = truth.size(); i-- > 0;) expected.push_back(truth[i].first);
    ASSERT_EQ(sample.stack.user_end, UserEnd::kComplete) << "step " << steps << " at " << ip;
    ASSERT_EQ(sample.stack.user, expected) << "step " << steps;
    if (!child.Step()) break;
  }
  EXPECT_GT(steps, 2'000);
  EXPECT_GT(calls, 50);
}

}  // namespace
}  // namespace telltale::agent
