// Stuck in an uninterruptible wait: a parent of vfork(2) stays in state D until its child execs or
// ends, and the child does neither for the seconds given (default 60).
#include <unistd.h>

#include <cstdlib>

int main(int argc, char** argv) {
  const unsigned seconds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 60;
  if (vfork() == 0) {
    sleep(seconds);
    _exit(0);
  }
  return 0;
}
