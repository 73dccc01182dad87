#include "collector/metrics/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace telltale::metrics {
namespace {

// Fields of stat(5) behind the name: state is 0.
constexpr size_t kUserTime = 11, kSystemTime = 12, kStartTime = 19, kVirtual = 20, kResident = 21;

}  // namespace

absl::StatusOr<ProcessFigures> ReadProcess(const std::string& dir) {
  const std::string file = dir + "/stat";
  std::ifstream stream(file);
  if (!stream) return absl::NotFoundError(absl::StrCat("metrics: cannot read ", file));
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  // The name in parentheses may hold spaces and parentheses itself.
  const size_t close = text.rfind(')');
  const std::vector<std::string> fields = absl::StrSplit(
      close == std::string::npos ? "" : text.substr(close + 1), ' ', absl::SkipEmpty());
  const auto number = [&](size_t field) {
    uint64_t value = 0;
    return field < fields.size() && absl::SimpleAtoi(fields[field], &value) ? value : 0;
  };
  if (fields.size() <= kResident) {
    return absl::DataLossError(absl::StrCat("metrics: ", file, " has too few fields"));
  }
  ProcessFigures figures;
  figures.ticks_per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  figures.cpu_ticks = number(kUserTime) + number(kSystemTime);
  figures.virtual_bytes = number(kVirtual);
  figures.resident_bytes = number(kResident) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  timespec wall = {}, boot = {};
  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_BOOTTIME, &boot);
  const auto seconds = [](const timespec& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  figures.start_s =
      seconds(wall) - seconds(boot) +
      static_cast<double>(number(kStartTime)) / static_cast<double>(figures.ticks_per_second);
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(dir + "/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++figures.open_files;
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.max_files = limit.rlim_cur;
  return figures;
}

}  // namespace telltale::metrics
