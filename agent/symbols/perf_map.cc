#include "agent/symbols/perf_map.h"

#include <iterator>

#include "agent/host/proc_file.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxLine = 4'096;
constexpr uint64_t kMaxMapFunctionBytes = 1 << 30;

// A hexadecimal number with or without "0x".
std::optional<uint64_t> TakeHex(std::string_view& text) {
  if (const size_t at = text.find_first_not_of(' '); at != std::string_view::npos) {
    text.remove_prefix(at);
  }
  if (text.starts_with("0x")) text.remove_prefix(2);
  return TakeNumber(text, 16);
}

}  // namespace

void PerfMap::Append(std::string_view text) {
  while (!text.empty() && !full_) {
    const size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    if (begun_.size() + part.size() > kMaxLine) {
      begun_.clear();
      skipping_ = true;
    }
    if (end == std::string_view::npos) {
      if (!skipping_) begun_.append(part);
      return;
    }
    if (skipping_) {
      skipping_ = false;
    } else if (begun_.empty()) {
      AddLine(part);
    } else {
      begun_.append(part);
      AddLine(begun_);
      begun_.clear();
    }
    text.remove_prefix(end + 1);
  }
}

void PerfMap::AddLine(std::string_view line) {
  if (++lines_ > limits_.lines) {
    full_ = true;
    return;
  }
  const auto start = TakeHex(line);
  if (!start || !line.starts_with(' ')) return;
  const auto bytes = TakeHex(line);
  if (!bytes || !line.starts_with(' ')) return;
  const size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos || *bytes == 0 || *bytes > kMaxMapFunctionBytes) return;
  if (*start > UINT64_MAX - *bytes) return;
  std::string_view name = line.substr(at, limits_.name_bytes);
  name = name.substr(0, name.find('\0'));
  if (name.empty()) return;
  // A new function may cut the one it lies in into two.
  if (PerfMap::bytes() + name.size() + 1 + 2 * kFunctionBytes > limits_.bytes) {
    full_ = true;
    return;
  }
  const auto name_at = static_cast<uint32_t>(names_.size());
  names_.append(name).push_back('\0');
  Paint(*start, *start + *bytes, name_at);
}

void PerfMap::Paint(uint64_t start, uint64_t end, uint32_t name) {
  auto at = functions_.upper_bound(start);
  if (at != functions_.begin()) {
    const auto before = std::prev(at);
    const Function covered = before->second;
    if (covered.end > start) {
      before->second.end = start;
      if (before->first == start) at = functions_.erase(before);
      if (covered.end > end) at = functions_.emplace(end, covered).first;
    }
  }
  while (at != functions_.end() && at->first < end) {
    const Function covered = at->second;
    at = functions_.erase(at);
    if (covered.end > end) at = functions_.emplace(end, covered).first;
  }
  functions_[start] = {end, name};
}

std::string_view PerfMap::NameAt(uint64_t address) const {
  const auto after = functions_.upper_bound(address);
  if (after == functions_.begin()) return {};
  const Function& function = std::prev(after)->second;
  return address < function.end ? names_.c_str() + function.name : std::string_view{};
}

}  // namespace telltale::agent
