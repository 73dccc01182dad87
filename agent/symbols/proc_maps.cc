#include "agent/symbols/proc_maps.h"

#include <algorithm>
#include <optional>

#include "agent/host/proc_file.h"

namespace telltale::agent {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr size_t kMaxPath = 4096;

// The kernel writes a newline in a name as \012.
std::string Unescaped(std::string_view path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path.substr(i, 4) == "\\012") {
      out.push_back('\n');
      i += 3;
    } else {
      out.push_back(path[i]);
    }
  }
  return out;
}

bool TakeChar(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// "start-end perms offset major:minor inode   path"
std::optional<MappedRegion> ParseLine(std::string_view line) {
  MappedRegion region;
  const auto start = TakeNumber(line, 16);
  if (!start || !TakeChar(line, '-')) return std::nullopt;
  const auto end = TakeNumber(line, 16);
  const std::string_view perms = TakeWord(line);
  const auto offset = TakeNumber(line, 16);
  const auto major = TakeNumber(line, 16);
  if (!end || !offset || !major || !TakeChar(line, ':')) return std::nullopt;
  const auto minor = TakeNumber(line, 16);
  const auto inode = TakeNumber(line);
  if (!minor || !inode || perms.size() < 4 || perms[2] != 'x' || *end <= *start)
    return std::nullopt;
  region.start = *start;
  region.end = *end;
  region.file_offset = *offset;
  region.device = *major << 20 | *minor;
  region.inode = *inode;
  const size_t at = line.find_first_not_of(' ');
  std::string_view path = at == std::string_view::npos ? "" : line.substr(at);
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  if (path.size() > kMaxPath) return std::nullopt;
  region.path = Unescaped(path);
  return region;
}

void AddLine(std::string_view line, size_t limit, MapsFile& file) {
  if (file.cut) return;
  std::optional<MappedRegion> region = ParseLine(line);
  if (!region || (!file.regions.empty() && region->start < file.regions.back().end)) return;
  file.cut = file.regions.size() >= limit;
  if (!file.cut) file.regions.push_back(*std::move(region));
}

}  // namespace

std::vector<MappedRegion> ParseMaps(std::string_view text, size_t limit) {
  MapsFile file;
  ForEachLine(text, [&](std::string_view line) { AddLine(line, limit, file); });
  return std::move(file.regions);
}

absl::StatusOr<MapsFile> ReadMaps(const std::string& path, size_t max_bytes, size_t limit) {
  MapsFile file;
  const auto bytes =
      ReadLines(path, max_bytes, [&](std::string_view line) { AddLine(line, limit, file); });
  if (!bytes.ok()) return bytes.status();
  file.bytes = *bytes;
  file.cut = file.cut || file.bytes >= max_bytes;
  return file;
}

const MappedRegion* FindRegion(const std::vector<MappedRegion>& regions, uint64_t address) {
  const auto after = std::ranges::upper_bound(regions, address, {}, &MappedRegion::start);
  if (after == regions.begin()) return nullptr;
  const MappedRegion& region = *(after - 1);
  return address < region.end ? &region : nullptr;
}

}  // namespace telltale::agent
