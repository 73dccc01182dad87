#include "agent/sensor/host_counts.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace telltale::agent {
namespace {

// The number behind a name at the beginning of a line.
std::optional<uint64_t> Behind(std::string_view name, std::string_view text) {
  const size_t line = text.find(name);  // `name` begins with the end of the line before
  if (line == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(line + name.size());
  uint64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<HostCounts> ParseHostCounts(std::string_view text) {
  const auto switches = Behind("\nctxt ", text), tasks = Behind("\nprocesses ", text);
  if (!switches || !tasks) return std::nullopt;
  return HostCounts{*switches, *tasks};
}

std::optional<HostCounts> ReadHostCounts() {
  std::ifstream file("/proc/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ParseHostCounts(text);
}

}  // namespace telltale::agent
