#include "tests/fleetsim/machine.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/fleetsim/node_stream.h"

namespace telltale::fleetsim {
namespace {

double Ticks(double ticks) { return ticks / static_cast<double>(sysconf(_SC_CLK_TCK)); }

// utime and stime, the 14th and 15th field of /proc/PID/stat (proc(5)); the name before may hold
// anything but ends with the last bracket.
double ProcessCpu(int pid) {
  std::ifstream stream(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(stream, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return Ticks(user + system);
}

// All but idle and iowait of the first line of /proc/stat.
double MachineCpu() {
  std::ifstream stream("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  stream >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
  return Ticks(user + nice + system + irq + softirq);
}

}  // namespace

CpuReading ReadCpu(int collector) {
  CpuReading reading;
  reading.mono_ns = MonoNowNs();
  if (collector != 0) reading.collector_s = ProcessCpu(collector);
  reading.machine_s = MachineCpu();
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  reading.own_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return reading;
}

double CpuUse::share() const {
  return (collector + own) / static_cast<double>(std::max(1u, std::thread::hardware_concurrency()));
}

CpuUse Between(const CpuReading& begin, const CpuReading& end) {
  CpuUse use;
  use.seconds = static_cast<double>(end.mono_ns - begin.mono_ns) * 1e-9;
  if (use.seconds <= 0) return use;
  use.collector = (end.collector_s - begin.collector_s) / use.seconds;
  use.own = (end.own_s - begin.own_s) / use.seconds;
  use.machine = (end.machine_s - begin.machine_s) / use.seconds;
  return use;
}

Resident ReadResident(int pid) {
  std::ifstream stream(absl::StrCat("/proc/", pid, "/status"));
  Resident resident;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream fields(line);
    std::string name;
    uint64_t value = 0;
    fields >> name >> value;
    if (name == "VmRSS:") resident.now_kb = value;
    if (name == "VmHWM:") resident.most_kb = value;
  }
  return resident;
}

FsyncProbe::FsyncProbe(const std::string& directory)
    : path_(absl::StrCat(directory, "/fsync-probe.", getpid())), thread_([this] { Run(); }) {}

FsyncProbe::~FsyncProbe() { Take(); }

std::vector<uint32_t> FsyncProbe::Take() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return took_us_;
}

void FsyncProbe::Run() {
  const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const std::string block(4096, 'x');
  for (int turn = 0; !stopping_; ++turn) {
    if (turn % 5 == 0) {
      const uint64_t begin = MonoNowNs();
      if (write(fd, block.data(), block.size()) < 0 || fdatasync(fd) != 0) break;
      took_us_.push_back(static_cast<uint32_t>((MonoNowNs() - begin) / 1000));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  close(fd);
  unlink(path_.c_str());
}

}  // namespace telltale::fleetsim
