// Memory used in ways of a known kind. usage: scenario_memory
// thrash|reread|pipes|leak|fill|slow|grow [FILE, MIB or SECONDS]
//   thrash FILE  reads the mapped FILE page by page, from the beginning again and again
//   reread FILE  reads FILE from the beginning again and again
//   pipes        a full pipe more every second, none ever closed: memory of the kernel's
//   leak         a quarter of a megabyte every second, never given back
//   fill MIB     takes MIB step by step and keeps it: a cache that fills, and is full
//   slow SECONDS so long it works and touches ten MiB a second, then it waits: a start-up
//   grow SECONDS serves fifty requests a second so long, then fifty more in each second
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

__attribute__((noinline)) long touch_pages(const volatile char* bytes, off_t size) {
  long sum = 0;
  for (off_t at = 0; at < size; at += 4096) sum += bytes[at];
  return sum;
}

void Thrash(const char* path) {
  const int file = open(path, O_RDONLY);
  struct stat of = {};
  if (file < 0 || fstat(file, &of) != 0) std::exit(1);
  void* mapped = mmap(nullptr, static_cast<size_t>(of.st_size), PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) std::exit(1);
  madvise(mapped, static_cast<size_t>(of.st_size), MADV_RANDOM);  // no reading ahead
  for (;;) touch_pages(static_cast<const char*>(mapped), of.st_size);
}

void Reread(const char* path) {
  const int file = open(path, O_RDONLY);
  static char block[65536];
  for (;;) {
    if (read(file, block, sizeof block) <= 0) lseek(file, 0, SEEK_SET);
  }
}

void Pipes() {
  for (int ends[2];;) {
    static char block[65536];
    if (pipe2(ends, O_NONBLOCK) == 0) (void)!write(ends[1], block, sizeof block);
    SleepMs(1000);
  }
}

// What nobody reads a compiler does not write, unless it is told to.
void TakeAndTouch(size_t bytes) {
  auto* const kept = static_cast<volatile char*>(std::malloc(bytes));
  for (size_t at = 0; kept != nullptr && at < bytes; at += 4096) kept[at] = 1;
}

void Take(size_t mib) { TakeAndTouch(mib << 20); }

void Leak() {
  for (;;) {
    TakeAndTouch(1 << 18);
    SleepMs(1000);
  }
}

void Fill(size_t mib) {
  for (size_t i = 0; i < mib; i += 8) {
    Take(8);
    SleepMs(500);
  }
  for (;;) SleepMs(1000);
}

__attribute__((noinline)) void work_for(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  volatile double sum = 0;
  while (std::chrono::steady_clock::now() < end) sum = sum + 1;
}

void Slow(size_t seconds) {
  for (size_t i = 0; i < 2 * seconds; ++i) {
    Take(5);
    work_for(500);
  }
  for (;;) SleepMs(1000);
}

// Half a millisecond and sixteen pages of its own.
__attribute__((noinline)) void serve_request() {
  constexpr size_t kBytes = 16 * 4096;
  void* const own =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return;
  std::memset(own, 1, kBytes);
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(500);
  volatile double sum = 0;
  while (std::chrono::steady_clock::now() < end) sum = sum + 1;
  munmap(own, kBytes);
}

void Grow(int calm_s) {
  auto second = std::chrono::steady_clock::now();
  for (int i = 0;; ++i) {
    const int requests = i < calm_s ? 50 : 50 * std::min(i - calm_s + 2, 36);
    for (int request = 0; request < requests; ++request) serve_request();
    std::this_thread::sleep_until(second += std::chrono::seconds(1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  const size_t amount = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64;
  if (kind == "thrash" && argc > 2) Thrash(argv[2]);
  if (kind == "reread" && argc > 2) Reread(argv[2]);
  if (kind == "pipes") Pipes();
  if (kind == "leak") Leak();
  if (kind == "fill") Fill(amount);
  if (kind == "slow") Slow(amount);
  if (kind == "grow") Grow(static_cast<int>(amount));
  return 2;
}
