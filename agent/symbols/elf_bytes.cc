#include "agent/symbols/elf_bytes.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace telltale::agent {

bool ElfBytes::Read(uint64_t offset, void* to, size_t bytes) const {
  if (fd_ < 0) {
    if (offset > memory_.size() || bytes > memory_.size() - offset) return false;
    if (bytes > 0) memcpy(to, memory_.data() + offset, bytes);
    return true;
  }
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return false;
    const ssize_t got = pread(fd_, out, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

std::optional<std::string> ElfBytes::ReadText(uint64_t offset, size_t bytes) const {
  std::string text;
  if (bytes == 0) return text;
  char last = 0;
  if (offset + bytes < offset || !Read(offset + bytes - 1, &last, 1)) return std::nullopt;
  text.resize(bytes);
  if (!Read(offset, text.data(), bytes)) return std::nullopt;
  return text;
}

absl::Status BadElf(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("read ELF: ", std::string(what)));
}

absl::Status ElfBeyondLimit(std::string_view what, uint64_t value, uint64_t limit) {
  return absl::ResourceExhaustedError(
      absl::StrCat("read ELF: ", std::string(what), ": ", value, ", limit ", limit));
}

absl::StatusOr<int> ElfClassOf(const ElfBytes& file) {
  unsigned char ident[EI_NIDENT];
  if (!file.Read(0, ident, sizeof ident) || memcmp(ident, ELFMAG, SELFMAG) != 0) {
    return BadElf("no ELF header");
  }
  if (ident[EI_DATA] != ELFDATA2LSB) return BadElf("not little endian");
  if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) {
    return BadElf("unknown class");
  }
  return ident[EI_CLASS];
}

}  // namespace telltale::agent
