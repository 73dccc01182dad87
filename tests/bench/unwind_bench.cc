// What unwinding costs: a program is stopped at many moments, its registers and stack are copied as
// the sensor copies them, and the copies are unwound again and again. Prints ns a frame (goal 150)
// and us a stack, cold and warm, and for each file the time to build its table, to load it from
// disk, and its size.
//
//   unwind_bench PROGRAM [ARGUMENT...]      e.g. cc1plus -quiet -O2 big.cc -o /dev/null

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "agent/symbols/proc_maps.h"
#include "agent/unwind/host_unwinder.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {
namespace {

constexpr size_t kCopies = 400;
constexpr size_t kWindow = 16'384;
constexpr int kRounds = 200;
constexpr size_t kEvictBytes = 64 << 20;

struct Copied {
  std::array<uint64_t, 17> registers;
  std::vector<char> stack;
};

uint64_t CpuNs() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

pid_t StartProgram(char** argv) {
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execv(argv[0], argv);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);  // stopped by its exec
  return pid;
}

Copied Copy(pid_t pid) {
  user_regs_struct r{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &r);
  Copied copy{{r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11,
               r.r12, r.r13, r.r14, r.r15, r.rip},
              std::vector<char>(kWindow)};
  const iovec here{copy.stack.data(), kWindow};
  const iovec there{reinterpret_cast<void*>(r.rsp), kWindow};
  const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
  copy.stack.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return copy;
}

// Stops it every millisecond and copies. Leaves it stopped, so that its maps can be read.
std::vector<Copied> Gather(pid_t pid) {
  std::vector<Copied> copies;
  int status = 0;
  while (copies.size() < kCopies) {
    ptrace(PTRACE_CONT, pid, nullptr, nullptr);
    usleep(1'000);
    kill(pid, SIGSTOP);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return {};
    if (WSTOPSIG(status) != SIGSTOP) continue;
    copies.push_back(Copy(pid));
  }
  return copies;
}

struct Round {
  uint64_t ns = 0, frames = 0, complete = 0;
};

// `before`: done before each stack, not timed.
template <typename Before>
Round UnwindAll(const std::vector<Copied>& copies, uint32_t tgid, HostUnwinder& unwinder,
                Before before) {
  Round round;
  for (const Copied& copied : copies) {
    before();
    const uint64_t begun = CpuNs();
    UserCopy copy{copied.registers, copied.registers[kRsp], copied.stack};
    RawSample sample;
    sample.tgid = tgid;
    unwinder.Unwind(copy, sample);
    round.frames += sample.stack.user.size();
    round.complete += sample.stack.user_end == UserEnd::kComplete ? 1 : 0;
    round.ns += CpuNs() - begun;
  }
  return round;
}

void Print(const char* what, const Round& round, size_t stacks) {
  const auto frames = static_cast<double>(std::max<uint64_t>(round.frames, 1));
  std::printf("%-28s %8.0f ns a frame %8.2f us a stack\n", what,
              static_cast<double>(round.ns) / frames,
              static_cast<double>(round.ns) / 1e3 / static_cast<double>(stacks));
}

void PrintTables(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  const std::string text((std::istreambuf_iterator<char>(maps)), std::istreambuf_iterator<char>());
  std::set<std::string> paths;
  for (const MappedRegion& region : ParseMaps(text, 1'000)) {
    if (region.path.starts_with('/')) paths.insert(region.path);
  }
  telltale::testing::TempDir scratch;
  std::printf("\n%-52s %9s %9s %9s %9s %9s\n", "file", "rows", "memory KB", "disk KB", "build ms",
              "load ms");
  for (const std::string& path : paths) {
    const auto open_file = [&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); };
    const TableCache::Options options{.store = {.directory = scratch.path() + "/unwind"}};
    TableCache builder(options);
    const auto table = builder.Find("id", open_file).table;
    TableCache loader(options);
    const uint64_t begun = CpuNs();
    loader.Find("id", open_file);
    const uint64_t load_ns = CpuNs() - begun;
    std::error_code none;
    const std::string file = scratch.path() + "/unwind/6964.unwind";
    const uint64_t on_disk = std::filesystem::file_size(file, none);
    std::filesystem::remove(file, none);
    if (table == nullptr) continue;
    std::printf("%-52s %9zu %9.1f %9.1f %9.2f %9.2f\n", path.c_str(), table->size(),
                static_cast<double>(table->bytes()) / 1e3, static_cast<double>(on_disk) / 1e3,
                static_cast<double>(builder.counts().ns) / 1e6, static_cast<double>(load_ns) / 1e6);
  }
}

int Main(char** argv) {
  const pid_t pid = StartProgram(argv);
  const std::vector<Copied> copies = Gather(pid);
  if (copies.empty()) {
    std::fprintf(stderr, "unwind_bench: %s ended before %zu copies: give it more to do\n", argv[0],
                 kCopies);
    return 1;
  }
  HostUnwinder unwinder({}, std::make_shared<ProcessMaps>(ProcessMaps::Options{}));
  const auto tgid = static_cast<uint32_t>(pid);
  const auto nothing = [] {};
  const Round cold = UnwindAll(copies, tgid, unwinder, nothing);
  std::vector<Round> rounds;
  for (int i = 0; i < kRounds; ++i) rounds.push_back(UnwindAll(copies, tgid, unwinder, nothing));
  // As in an agent that sleeps between drains: tables and maps are in memory, not in the caches.
  std::vector<char> other(kEvictBytes);
  const Round evicted = UnwindAll(copies, tgid, unwinder, [&] {
    for (size_t at = 0; at < other.size(); at += 64) ++other[at];
  });
  std::ranges::sort(rounds, {}, &Round::ns);
  std::printf("%s: %zu stacks, %.1f frames each, %.1f %% complete\n", argv[0], copies.size(),
              static_cast<double>(cold.frames) / static_cast<double>(copies.size()),
              100.0 * static_cast<double>(cold.complete) / static_cast<double>(copies.size()));
  Print("first time, builds tables", cold, copies.size());
  Print("CPU caches emptied each time", evicted, copies.size());
  Print("median", rounds[kRounds / 2], copies.size());
  Print("best", rounds.front(), copies.size());
  PrintTables(pid);
  kill(pid, SIGKILL);
  return 0;
}

}  // namespace
}  // namespace telltale::agent

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: unwind_bench PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  return telltale::agent::Main(argv + 1);
}
