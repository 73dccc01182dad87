#include "agent/symbols/elf_file.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxHeaders = 4'096;  // program or section headers
constexpr size_t kMaxNoteBytes = 64 * 1024;
constexpr size_t kMaxBuildId = 32;
constexpr size_t kSymbolsAtOnce = 4'096;

bool ReadAt(int fd, uint64_t offset, void* to, size_t bytes) {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return false;
    const ssize_t got = pread(fd, out, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

struct Elf32 {
  using Header = Elf32_Ehdr;
  using Program = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
};
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Program = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
};

absl::Status Bad(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("read ELF: ", std::string(what)));
}

// Class of the file, or an error if it is no little-endian ELF.
absl::StatusOr<int> ClassOf(int fd) {
  unsigned char ident[EI_NIDENT];
  if (!ReadAt(fd, 0, ident, sizeof ident) || memcmp(ident, ELFMAG, SELFMAG) != 0) {
    return Bad("no ELF header");
  }
  if (ident[EI_DATA] != ELFDATA2LSB) return Bad("not little endian");
  if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) return Bad("unknown class");
  return ident[EI_CLASS];
}

template <typename T>
absl::StatusOr<std::vector<T>> ReadTable(int fd, uint64_t offset, size_t count, size_t entry_bytes,
                                         const char* what) {
  if (count == 0) return std::vector<T>{};
  if (entry_bytes != sizeof(T)) return Bad(absl::StrCat(what, ": odd entry size ", entry_bytes));
  if (count > kMaxHeaders) return Bad(absl::StrCat(what, ": ", count, ", limit ", kMaxHeaders));
  std::vector<T> table(count);
  if (!ReadAt(fd, offset, table.data(), count * sizeof(T))) {
    return Bad(absl::StrCat(what, ": beyond the end of the file"));
  }
  return table;
}

template <typename Elf>
absl::StatusOr<ElfIdentity> IdentityOf(int fd) {
  typename Elf::Header header;
  if (!ReadAt(fd, 0, &header, sizeof header)) return Bad("header cut short");
  auto programs = ReadTable<typename Elf::Program>(fd, header.e_phoff, header.e_phnum,
                                                   header.e_phentsize, "program headers");
  if (!programs.ok()) return programs.status();
  ElfIdentity identity;
  for (const auto& p : *programs) {
    if (p.p_type == PT_LOAD) identity.segments.push_back({p.p_offset, p.p_filesz, p.p_vaddr});
    if (p.p_type != PT_NOTE || p.p_filesz > kMaxNoteBytes || !identity.build_id.empty()) continue;
    std::string notes(p.p_filesz, '\0');
    if (ReadAt(fd, p.p_offset, notes.data(), notes.size())) identity.build_id = GnuBuildId(notes);
  }
  return identity;
}

struct RawSymbol {
  uint64_t address;
  uint32_t bytes;
  uint32_t name;  // offset into the string section
};

template <typename Elf>
absl::Status FunctionsOf(int fd, const typename Elf::Section& section,
                         const ElfSymbols::Limits& limits, std::vector<RawSymbol>* functions) {
  using Symbol = typename Elf::Symbol;
  if (section.sh_entsize != sizeof(Symbol)) return Bad("symbols: odd entry size");
  if (section.sh_size > limits.symbol_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("read ELF: symbol section of ",
                                                     uint64_t{section.sh_size}, " bytes, limit ",
                                                     limits.symbol_bytes));
  }
  size_t left = section.sh_size / sizeof(Symbol);
  uint64_t offset = section.sh_offset;
  std::vector<Symbol> symbols;
  while (left > 0) {
    symbols.resize(std::min(left, kSymbolsAtOnce));
    if (!ReadAt(fd, offset, symbols.data(), symbols.size() * sizeof(Symbol))) {
      return Bad("symbols: beyond the end of the file");
    }
    for (const Symbol& s : symbols) {
      const int type = s.st_info & 0xf;
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s.st_shndx == SHN_UNDEF) continue;
      if (s.st_value == 0 || s.st_name == 0) continue;
      if (functions->size() >= limits.functions) {
        return absl::ResourceExhaustedError(
            absl::StrCat("read ELF: more than ", limits.functions, " functions"));
      }
      functions->push_back({s.st_value,
                            static_cast<uint32_t>(std::min<uint64_t>(s.st_size, UINT32_MAX)),
                            static_cast<uint32_t>(s.st_name)});
    }
    left -= symbols.size();
    offset += symbols.size() * sizeof(Symbol);
  }
  return absl::OkStatus();
}

// Functions of the file and the string section their names are in.
template <typename Elf>
absl::StatusOr<std::pair<std::vector<RawSymbol>, std::string>> SymbolsOf(
    int fd, const ElfSymbols::Limits& limits) {
  typename Elf::Header header;
  if (!ReadAt(fd, 0, &header, sizeof header)) return Bad("header cut short");
  auto sections = ReadTable<typename Elf::Section>(fd, header.e_shoff, header.e_shnum,
                                                   header.e_shentsize, "section headers");
  if (!sections.ok()) return sections.status();
  std::pair<std::vector<RawSymbol>, std::string> result;
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const auto& section : *sections) {
      if (section.sh_type != type || section.sh_link >= sections->size()) continue;
      const auto& strings = (*sections)[section.sh_link];
      if (strings.sh_type != SHT_STRTAB) return Bad("symbols: their names are no string section");
      if (strings.sh_size > limits.string_bytes) {
        return absl::ResourceExhaustedError(absl::StrCat("read ELF: string section of ",
                                                         uint64_t{strings.sh_size},
                                                         " bytes, limit ", limits.string_bytes));
      }
      const absl::Status read = FunctionsOf<Elf>(fd, section, limits, &result.first);
      if (!read.ok()) return read;
      if (result.first.empty()) continue;
      result.second.resize(strings.sh_size);
      if (!ReadAt(fd, strings.sh_offset, result.second.data(), result.second.size())) {
        return Bad("symbol names: beyond the end of the file");
      }
      return result;
    }
  }
  return result;
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
  const absl::StatusOr<int> elf_class = ClassOf(fd);
  if (!elf_class.ok()) return elf_class.status();
  return *elf_class == ELFCLASS64 ? IdentityOf<Elf64>(fd) : IdentityOf<Elf32>(fd);
}

absl::StatusOr<ElfSection> ReadElfSection(int fd, uint16_t machine, std::string_view name,
                                          size_t max_bytes) {
  const absl::StatusOr<int> elf_class = ClassOf(fd);
  if (!elf_class.ok()) return elf_class.status();
  const auto absent = [&] {
    return absl::NotFoundError(absl::StrCat("read ELF: no section ", std::string(name)));
  };
  Elf64_Ehdr header;
  if (*elf_class != ELFCLASS64) return absent();
  if (!ReadAt(fd, 0, &header, sizeof header)) return Bad("header cut short");
  if (header.e_machine != machine) return absent();
  const auto sections =
      ReadTable<Elf64_Shdr>(fd, header.e_shoff, header.e_shnum, header.e_shentsize, "sections");
  if (!sections.ok()) return sections.status();
  if (header.e_shstrndx >= sections->size()) return absent();
  const Elf64_Shdr& names = (*sections)[header.e_shstrndx];
  std::string found(name.size() + 1, '\0');
  for (const Elf64_Shdr& section : *sections) {
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (uint64_t{section.sh_name} + found.size() > names.sh_size) continue;
    if (!ReadAt(fd, names.sh_offset + section.sh_name, found.data(), found.size())) continue;
    if (found.back() != '\0' || !found.starts_with(name)) continue;
    if (section.sh_size > max_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("read ELF: section ", std::string(name),
                                                       " of ", section.sh_size, " bytes, limit ",
                                                       max_bytes));
    }
    ElfSection result{section.sh_addr, std::string(section.sh_size, '\0')};
    if (!ReadAt(fd, section.sh_offset, result.bytes.data(), result.bytes.size())) {
      return Bad(absl::StrCat("section ", std::string(name), ": beyond the end of the file"));
    }
    return result;
  }
  return absent();
}

absl::StatusOr<ElfSymbols> ElfSymbols::Read(int fd, const Limits& limits) {
  const absl::StatusOr<int> elf_class = ClassOf(fd);
  if (!elf_class.ok()) return elf_class.status();
  auto read =
      *elf_class == ELFCLASS64 ? SymbolsOf<Elf64>(fd, limits) : SymbolsOf<Elf32>(fd, limits);
  if (!read.ok()) return read.status();
  auto& [symbols, strings] = *read;

  const auto name_of = [&strings = strings, &limits](const RawSymbol& s) -> std::string_view {
    if (s.name >= strings.size()) return {};
    const std::string_view rest(strings.data() + s.name, strings.size() - s.name);
    const size_t end = rest.substr(0, limits.name_bytes + 1).find('\0');
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
  };
  // Of several names of one address: the largest function, then the first by name.
  std::ranges::sort(symbols, [&](const RawSymbol& a, const RawSymbol& b) {
    if (a.address != b.address) return a.address < b.address;
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return name_of(a) < name_of(b);
  });
  ElfSymbols result;
  for (const RawSymbol& s : symbols) {
    const std::string_view name = name_of(s);
    if (name.empty()) continue;
    if (!result.functions_.empty() && result.functions_.back().address == s.address) continue;
    // Symbols may share one long name: what is copied is bounded like what was read.
    if (result.names_.size() + name.size() >= limits.string_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("read ELF: function names beyond ", limits.string_bytes, " bytes"));
    }
    result.functions_.push_back({s.address, s.bytes, static_cast<uint32_t>(result.names_.size())});
    result.names_.append(name).push_back('\0');
  }
  result.functions_.shrink_to_fit();
  result.names_.shrink_to_fit();
  return result;
}

std::string_view ElfSymbols::NameAt(uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::address);
  if (after == functions_.begin()) return {};
  const Function& f = *(after - 1);
  if (f.bytes != 0 && address - f.address >= f.bytes) return {};
  return names_.c_str() + f.name;
}

}  // namespace telltale::agent
