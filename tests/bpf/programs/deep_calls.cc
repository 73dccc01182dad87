// A load whose user stacks are hard to walk without unwind information: threads, recursion, frames
// of changing size, a signal handler that works, and no frame pointers (see its build options).
// Runs until it is killed.

#include <alloca.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

std::atomic<uint64_t> handled{0};

__attribute__((noinline)) uint64_t Work(volatile uint64_t* sum, int rounds) {
  for (int i = 0; i < rounds; ++i) *sum = *sum * 31 + static_cast<uint64_t>(i);
  return *sum;
}

__attribute__((noinline)) uint64_t Descend(volatile uint64_t* sum, int depth) {
  if (depth == 0) return Work(sum, 20'000);
  return Descend(sum, depth - 1) + 1;
}

__attribute__((noinline)) uint64_t OnStack(volatile uint64_t* sum, size_t bytes) {
  auto* room = static_cast<char*>(alloca(bytes));
  memset(room, static_cast<int>(*sum), bytes);
  return Descend(sum, 12) + static_cast<uint64_t>(room[bytes / 2]);
}

// Needs a frame aligned beyond what the caller gives.
__attribute__((noinline)) uint64_t Aligned(volatile uint64_t* sum) {
  alignas(64) volatile uint64_t line[8] = {};
  line[*sum % 8] = OnStack(sum, 64 + *sum % 900);
  return line[0];
}

void OnSignal(int) {
  volatile uint64_t sum = 0;
  Descend(&sum, 5);
  handled.fetch_add(1, std::memory_order_relaxed);
}

void Spin(unsigned seed) {
  volatile uint64_t sum = seed;
  std::vector<uint64_t> values(3'000);
  for (;;) {
    Aligned(&sum);
    for (uint64_t& v : values) v = Work(&sum, 1);
    std::sort(values.begin(), values.end(),
              [&](uint64_t a, uint64_t b) { return Work(&sum, 1) != 0 && a < b; });
    usleep(200);
  }
}

}  // namespace

int main() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval timer{{0, 4'000}, {0, 4'000}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  std::thread other(Spin, 7);
  Spin(3);
}
