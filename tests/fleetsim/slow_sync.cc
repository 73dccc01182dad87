// A disk on which each durable write takes long: loaded before the C library into a program under
// test. How many milliseconds says the file named by TELLTALE_SYNC_TAKES, while it is there.

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace {

void TakeLong() {
  int ms = 0;
  const char* file = std::getenv("TELLTALE_SYNC_TAKES");
  if (file == nullptr || !(std::ifstream(file) >> ms)) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace

extern "C" int fdatasync(int fd) {
  TakeLong();
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

extern "C" int fsync(int fd) {
  TakeLong();
  return static_cast<int>(syscall(SYS_fsync, fd));
}
