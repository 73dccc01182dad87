#include "agent/symbols/elf_file.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "agent/symbols/elf_bytes.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxNoteBytes = 64 * 1024;

template <typename Elf>
absl::StatusOr<ElfIdentity> IdentityOf(const ElfBytes& file) {
  typename Elf::Header header;
  if (!file.Read(0, &header, sizeof header)) return BadElf("header cut short");
  auto programs = ReadElfTable<typename Elf::Program>(file, header.e_phoff, header.e_phnum,
                                                      header.e_phentsize, "program headers");
  if (!programs.ok()) return programs.status();
  ElfIdentity identity;
  for (const auto& p : *programs) {
    if (p.p_type == PT_LOAD) identity.segments.push_back({p.p_offset, p.p_filesz, p.p_vaddr});
    if (p.p_type != PT_NOTE || p.p_filesz > kMaxNoteBytes || !identity.build_id.empty()) continue;
    std::string notes(p.p_filesz, '\0');
    if (file.Read(p.p_offset, notes.data(), notes.size())) identity.build_id = GnuBuildId(notes);
  }
  return identity;
}

}  // namespace

std::string GnuBuildId(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;  // the same in both classes
    memcpy(&header, notes.data(), sizeof header);
    notes.remove_prefix(sizeof header);
    const uint64_t name = (uint64_t{header.n_namesz} + 3) & ~uint64_t{3};
    const uint64_t desc = (uint64_t{header.n_descsz} + 3) & ~uint64_t{3};
    if (name + desc > notes.size()) break;
    const bool gnu = header.n_namesz == 4 && memcmp(notes.data(), "GNU", 4) == 0;
    if (gnu && header.n_type == NT_GNU_BUILD_ID && header.n_descsz > 0) {
      return std::string(notes.substr(name, std::min<size_t>(header.n_descsz, kMaxBuildId)));
    }
    notes.remove_prefix(name + desc);
  }
  return {};
}

std::optional<uint64_t> ElfIdentity::AddressOf(uint64_t file_offset) const {
  for (const ElfSegment& s : segments) {
    if (file_offset >= s.file_offset && file_offset - s.file_offset < s.bytes) {
      return s.address + (file_offset - s.file_offset);
    }
  }
  return std::nullopt;
}

absl::StatusOr<ElfIdentity> ReadElfIdentity(int fd) {
  const ElfBytes file(fd);
  const absl::StatusOr<int> elf_class = ElfClassOf(file);
  if (!elf_class.ok()) return elf_class.status();
  return *elf_class == ELFCLASS64 ? IdentityOf<Elf64>(file) : IdentityOf<Elf32>(file);
}

absl::StatusOr<ElfSection> ReadElfSection(int fd, uint16_t machine, std::string_view name,
                                          size_t max_bytes) {
  const ElfBytes file(fd);
  const absl::StatusOr<int> elf_class = ElfClassOf(file);
  if (!elf_class.ok()) return elf_class.status();
  const std::string what = absl::StrCat("section ", std::string(name));
  const auto absent = [&] { return absl::NotFoundError(absl::StrCat("read ELF: no ", what)); };
  if (*elf_class != ELFCLASS64) return absent();
  Elf64_Ehdr header;
  const auto sections = ReadElfSections<Elf64>(file, &header);
  if (!sections.ok()) return sections.status();
  if (header.e_machine != machine) return absent();
  const Elf64_Shdr* section = FindElfSection<Elf64>(file, header, *sections, name);
  if (section == nullptr) return absent();
  if (section->sh_size > max_bytes) {
    return ElfBeyondLimit(absl::StrCat(what, ": bytes"), section->sh_size, max_bytes);
  }
  std::optional<std::string> bytes = file.ReadText(section->sh_offset, section->sh_size);
  if (!bytes) return BadElf(absl::StrCat(what, ": beyond the end of the file"));
  return ElfSection{section->sh_addr, *std::move(bytes)};
}

}  // namespace telltale::agent
