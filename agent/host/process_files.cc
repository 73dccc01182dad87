#include "agent/host/process_files.h"

#include "agent/host/proc_file.h"

namespace telltale::agent {

namespace {

// The fields from the third on. The name in parentheses may hold anything, parentheses too: they
// count from the last one.
std::optional<std::string_view> BehindName(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  return stat.substr(name_end + 1);
}

// A number, by its place in proc(5); not one of the first three.
std::optional<uint64_t> Field(std::string_view stat, int wanted) {
  std::optional<std::string_view> rest = BehindName(stat);
  if (!rest) return std::nullopt;
  for (int field = 3; field < wanted; ++field) TakeWord(*rest);
  return TakeNumber(*rest);
}

}  // namespace

std::optional<uint64_t> StartTicks(std::string_view stat) { return Field(stat, 22); }

std::optional<uint64_t> ThreadCount(std::string_view stat) { return Field(stat, 20); }

std::optional<char> TaskState(std::string_view stat) {
  std::optional<std::string_view> rest = BehindName(stat);
  const std::string_view state = rest ? TakeWord(*rest) : "";
  if (state.size() != 1) return std::nullopt;
  return state.front();
}

std::string CgroupOf(std::string_view cgroup) {
  // "4:memory:/path" in version 1; "0::/path" in version 2.
  std::string unified, memory;
  ForEachLine(cgroup, [&](std::string_view line) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) unified = line.substr(second + 1);
    if (controllers == "memory") memory = line.substr(second + 1);
  });
  return memory.empty() ? unified : memory;
}

std::optional<ProcessStatus> ParseProcessStatus(std::string_view status) {
  std::optional<uint64_t> uid, ns_pid;
  // The name in the first line has its newlines escaped, so a line is what it begins like.
  ForEachLine(status, [&](std::string_view line) {
    const std::string_view key = TakeWord(line);
    if (key == "Uid:") {  // real, effective, saved, of files
      TakeNumber(line);
      uid = TakeNumber(line);
    }
    if (key == "NSpid:") {  // outermost first
      while (const auto pid = TakeNumber(line)) ns_pid = pid;
    }
  });
  if (!uid || !ns_pid || *uid > UINT32_MAX || *ns_pid > UINT32_MAX) return std::nullopt;
  return ProcessStatus{static_cast<uint32_t>(*uid), static_cast<uint32_t>(*ns_pid)};
}

}  // namespace telltale::agent
