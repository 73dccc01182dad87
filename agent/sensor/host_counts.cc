#include "agent/sensor/host_counts.h"

#include <string>

#include "absl/status/statusor.h"
#include "agent/host/proc_file.h"
#include "sketch/time_units.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxText = 1 << 20;  // a line of it has a number for each interrupt

}  // namespace

std::optional<HostCounts> ParseHostCounts(std::string_view text) {
  std::optional<uint64_t> switches, tasks;
  ForEachLine(text, [&](std::string_view line) {
    const std::string_view key = TakeWord(line);
    if (key == "ctxt") switches = TakeNumber(line);
    if (key == "processes") tasks = TakeNumber(line);
  });
  if (!switches || !tasks) return std::nullopt;
  return HostCounts{*switches, *tasks};
}

std::optional<HostCounts> ReadHostCounts() {
  const absl::StatusOr<std::string> text = ReadBounded("/proc/stat", kMaxText);
  return text.ok() ? ParseHostCounts(*text) : std::nullopt;
}

void HostPace::Look(uint64_t mono_ns, const std::function<std::optional<HostCounts>()>& read) {
  if (last_ns_ != 0 && mono_ns - last_ns_ < kNsPerS) return;
  const std::optional<HostCounts> now = read();
  known_ = now.has_value() && last_.has_value() && now->switches >= last_->switches &&
           now->tasks >= last_->tasks;
  if (known_) {
    const double seconds = static_cast<double>(mono_ns - last_ns_) / kNsPerS;
    switches_per_s_ = static_cast<double>(now->switches - last_->switches) / seconds;
    tasks_per_s_ = static_cast<double>(now->tasks - last_->tasks) / seconds;
  }
  last_ = now;
  last_ns_ = mono_ns;
}

}  // namespace telltale::agent
