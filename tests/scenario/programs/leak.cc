// Takes 4 MiB a second and never gives any back: pages are touched so that the kernel must hand
// them out. Stops by itself at the limit given in MiB (default 256) and then only sleeps.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

__attribute__((noinline)) static void* leak_some(size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory != nullptr) std::memset(memory, 0x5a, bytes);
  return memory;
}

int main(int argc, char** argv) {
  const size_t limit = static_cast<size_t>(argc > 1 ? std::atoi(argv[1]) : 256) << 20;
  constexpr size_t kStep = 1 << 20;
  void* volatile last = nullptr;  // keeps the compiler from dropping the allocation
  for (size_t taken = 0; taken < limit; taken += kStep) {
    last = leak_some(kStep);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  (void)last;
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(60));
}
