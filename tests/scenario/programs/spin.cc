// A busy loop with a name: burns one CPU in spin_forever until killed.
#include <cstdint>

__attribute__((noinline)) static void spin_forever(volatile uint64_t* counter) {
  for (;;) *counter = *counter + 1;
}

int main() {
  volatile uint64_t counter = 0;
  spin_forever(&counter);
}
