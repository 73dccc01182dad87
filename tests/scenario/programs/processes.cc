// Processes and signals in numbers. usage: scenario_processes forks|zombies|signals|crash|victim
// [FILE|AT_MOST]
//   forks    children that end at once, one after the other
//   zombies  fifty children a second that nobody waits for, for ever; from AT_MOST on (20,000) the
//            oldest is waited for whenever there is a new one, so that the host keeps its numbers
//   signals  as many signals to itself as it can
//   crash    writes to FILE until the disk is full, then aborts
//   victim   does a little and goes on for ever; SIGUSR1: it exits with 0, SIGUSR2: it takes all
//   memory
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

volatile sig_atomic_t asked = 0;

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void Forks() {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  }
}

// The host may allow fewer: then as many as it does.
void Zombies(int at_most) {
  for (int left = 0;;) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) ++left;
    if ((child < 0 || left > at_most) && wait(nullptr) > 0) --left;
    SleepMs(20);
  }
}

void Signals() {
  signal(SIGUSR1, [](int) {});
  for (;;) raise(SIGUSR1);
}

void Crash(const char* path) {
  const int out = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  static char block[65536];
  while (write(out, block, sizeof block) > 0) {
  }
  std::abort();
}

void TakeAllMemory() {
  for (;;) {
    auto* const kept = static_cast<volatile char*>(std::malloc(1 << 20));
    for (size_t at = 0; kept != nullptr && at < 1 << 20; at += 4096) kept[at] = 1;
  }
}

// A third of a CPU: what does next to nothing loses its row among busier programs.
void Victim() {
  for (const int number : {SIGUSR1, SIGUSR2}) signal(number, [](int got) { asked = got; });
  while (asked == 0) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    while (std::chrono::steady_clock::now() < end) {
    }
    SleepMs(140);
  }
  if (asked == SIGUSR2) TakeAllMemory();
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "forks") Forks();
  if (kind == "zombies") Zombies(argc > 2 ? std::atoi(argv[2]) : 20'000);
  if (kind == "signals") Signals();
  if (kind == "crash" && argc > 2) Crash(argv[2]);
  if (kind == "victim") Victim();
  return 2;
}
