// Waits of known causes. usage: scenario_waits convoy|inversion|inode|journal|blackhole|fuse|herd
// [PATH]
//   convoy     four threads take turns at a mutex, each sleeps while it holds it
//   inversion  a process of no priority holds a mutex, one in between takes its CPU, one of
//   priority waits inode      four processes append to the file PATH: each holds the inode's lock
//   while the disk writes journal    four processes make, sync and remove files in the directory
//   PATH: each waits for the journal's commit blackhole  sends to a peer that never reads fuse
//   looks into the file system mounted at PATH, whose server never answers (root) herd       200
//   threads wake for each event, one finds something to do
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace {

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

__attribute__((noinline)) void hold_and_sleep(std::mutex& mutex) {
  const std::lock_guard<std::mutex> lock(mutex);
  SleepMs(400);
}

void Convoy() {
  static std::mutex mutex;
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      for (;;) hold_and_sleep(mutex);
    }).detach();
  }
  for (;;) hold_and_sleep(mutex);
}

void OnFirstCpu() {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof first, &first);
}

void Burn(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end) {
  }
}

void Inversion() {
  auto* mutex = static_cast<pthread_mutex_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(mutex, &shared);
  if (fork() == 0) {
    OnFirstCpu();
    const sched_param none = {};
    sched_setscheduler(0, SCHED_IDLE, &none);
    for (;;) {
      pthread_mutex_lock(mutex);
      Burn(50);
      pthread_mutex_unlock(mutex);
    }
  }
  if (fork() == 0) {
    OnFirstCpu();
    for (;;) Burn(1000);
  }
  for (;;) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    SleepMs(10);
  }
}

void Inode(const char* path) {
  for (int i = 0; i < 3 && fork() != 0; ++i) {
  }
  constexpr size_t kBlock = 1 << 18;
  constexpr off_t kMost = 128 << 20;
  void* block = nullptr;
  if (posix_memalign(&block, 4096, kBlock) != 0) return;
  std::memset(block, 1, kBlock);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_DIRECT | O_SYNC, 0644);
  for (;;) {
    (void)!write(file, block, kBlock);
    struct stat now = {};
    if (fstat(file, &now) == 0 && now.st_size > kMost) (void)!ftruncate(file, 0);
  }
}

void Journal(const char* directory) {
  for (int i = 0; i < 3 && fork() != 0; ++i) {
  }
  const std::string path = std::string(directory) + "/" + std::to_string(getpid());
  for (;;) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
    (void)!write(file, "x", 1);
    fsync(file);
    close(file);
    unlink(path.c_str());
  }
}

void BlackHole() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  static char block[65536];
  for (;;) send(ends[0], block, sizeof block, 0);
}

void Fuse(const char* path) {
  const int server = open("/dev/fuse", O_RDWR);
  const std::string options =
      "fd=" + std::to_string(server) + ",rootmode=40000,user_id=0,group_id=0";
  if (server < 0 || mount("stalled", path, "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    std::perror("mount of a FUSE file system");
    std::exit(1);
  }
  if (fork() == 0) {
    struct stat asked = {};
    const std::string file = std::string(path) + "/file";
    stat(file.c_str(), &asked);
    std::exit(0);
  }
  for (;;) SleepMs(60'000);
}

void Herd() {
  const int events = eventfd(0, EFD_NONBLOCK);
  for (int i = 0; i < 200; ++i) {
    std::thread([events] {
      for (uint64_t got = 0;;) {
        pollfd waits = {events, POLLIN, 0};
        poll(&waits, 1, -1);
        (void)!read(events, &got, sizeof got);
      }
    }).detach();
  }
  for (const uint64_t one = 1;;) {
    (void)!write(events, &one, sizeof one);
    SleepMs(2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view cause = argc > 1 ? argv[1] : "";
  if (cause == "convoy") Convoy();
  if (cause == "inversion") Inversion();
  if (cause == "inode" && argc > 2) Inode(argv[2]);
  if (cause == "journal" && argc > 2) Journal(argv[2]);
  if (cause == "blackhole") BlackHole();
  if (cause == "fuse" && argc > 2) Fuse(argv[2]);
  if (cause == "herd") Herd();
  return 2;
}
