#include "agent/symbols/elf_symbols.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/symbols/elf_bytes.h"
#include "agent/symbols/mini_debug_info.h"

namespace telltale::agent {
namespace {

constexpr size_t kSymbolsAtOnce = 4'096;

struct RawSymbol {
  uint64_t address;
  uint32_t bytes;
  uint32_t name;  // offset into the string section
};

// The functions of a symbol section; `room`: how many more are wanted at most.
template <typename Elf>
absl::StatusOr<std::vector<RawSymbol>> FunctionsOf(const ElfBytes& file,
                                                   const typename Elf::Section& section,
                                                   size_t room) {
  using Symbol = typename Elf::Symbol;
  std::vector<RawSymbol> functions;
  size_t left = section.sh_size / sizeof(Symbol);
  uint64_t offset = section.sh_offset;
  std::vector<Symbol> symbols;
  while (left > 0) {
    symbols.resize(std::min(left, kSymbolsAtOnce));
    if (!file.Read(offset, symbols.data(), symbols.size() * sizeof(Symbol))) {
      return BadElf("symbols: beyond the end of the file");
    }
    for (const Symbol& s : symbols) {
      if (!IsNamedFunction(s)) continue;
      if (functions.size() >= room) return ElfBeyondLimit("functions, more than", room, room);
      functions.push_back({s.st_value,
                           static_cast<uint32_t>(std::min<uint64_t>(s.st_size, UINT32_MAX)),
                           static_cast<uint32_t>(s.st_name)});
    }
    left -= symbols.size();
    offset += symbols.size() * sizeof(Symbol);
  }
  return functions;
}

}  // namespace

ElfSymbols ElfSymbols::Read(int fd, const Limits& limits) {
  const ElfBytes file(fd);
  ElfSymbols symbols;
  const absl::StatusOr<int> elf_class = ElfClassOf(file);
  if (!elf_class.ok()) {
    symbols.Note(elf_class.status());
  } else {
    symbols.Note(*elf_class == ELFCLASS64 ? symbols.AddFile<Elf64>(file, limits, true)
                                          : symbols.AddFile<Elf32>(file, limits, true));
  }
  symbols.functions_.shrink_to_fit();
  symbols.names_.Finish();
  return symbols;
}

void ElfSymbols::Note(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

template <typename Elf>
absl::Status ElfSymbols::AddFile(const ElfBytes& file, const Limits& limits, bool unpack) {
  typename Elf::Header header;
  const auto sections = ReadElfSections<Elf>(file, &header);
  if (!sections.ok()) return sections.status();
  // The names of an address that come first are kept: those of .symtab before the exported ones.
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const auto& section : *sections) {
      if (section.sh_type != type || section.sh_link >= sections->size()) continue;
      const auto& names = (*sections)[section.sh_link];
      absl::Status added = AddTable<Elf>(file, section, names, limits);
      if constexpr (std::is_same_v<Elf, Elf64>) {
        // What is exported stands in .symtab, too.
        if (absl::IsResourceExhausted(added) && unpack) {
          added = indexed() ? absl::OkStatus() : AddIndex(file, section, names, limits);
        }
      }
      Note(added);
      break;  // a file has one of each; a hostile one thousands
    }
  }
  if (!unpack) return absl::OkStatus();
  const auto* packed = FindElfSection<Elf>(file, header, *sections, ".gnu_debugdata");
  if (packed == nullptr) return absl::OkStatus();
  if (packed->sh_size > limits.packed_bytes) {
    return ElfBeyondLimit("section .gnu_debugdata: bytes", packed->sh_size, limits.packed_bytes);
  }
  const auto bytes = file.ReadText(packed->sh_offset, packed->sh_size);
  if (!bytes) return BadElf("section .gnu_debugdata: beyond the end of the file");
  return AddPacked(*bytes, limits);
}

absl::Status ElfSymbols::AddPacked(std::string_view packed, const Limits& limits) {
  const absl::StatusOr<std::string> unpacked = UnpackMiniDebugInfo(packed, limits.unpacked_bytes);
  if (!unpacked.ok()) return unpacked.status();
  const ElfBytes inner{std::string_view(*unpacked)};
  const absl::StatusOr<int> elf_class = ElfClassOf(inner);
  if (!elf_class.ok()) return elf_class.status();
  return *elf_class == ELFCLASS64 ? AddFile<Elf64>(inner, limits, false)
                                  : AddFile<Elf32>(inner, limits, false);
}

absl::Status ElfSymbols::AddIndex(const ElfBytes& file, const Elf64::Section& symbols,
                                  const Elf64::Section& names, const Limits& limits) {
  absl::StatusOr<SymbolIndex> index = SymbolIndex::Read(file, symbols, names, limits.index);
  if (!index.ok()) return index.status();
  index_ = *std::move(index);
  return absl::OkStatus();
}

template <typename Elf>
absl::Status ElfSymbols::AddTable(const ElfBytes& file, const typename Elf::Section& symbols,
                                  const typename Elf::Section& strings, const Limits& limits) {
  // The debug part of a stripped program names sections whose bytes are in another file.
  if (symbols.sh_size == 0) return absl::OkStatus();
  if (symbols.sh_entsize != sizeof(typename Elf::Symbol)) return BadElf("symbols: odd entry size");
  if (symbols.sh_size > limits.symbol_bytes) {
    return ElfBeyondLimit("symbol section: bytes", symbols.sh_size, limits.symbol_bytes);
  }
  if (strings.sh_type != SHT_STRTAB) return BadElf("symbols: their names are no string section");
  if (strings.sh_size > limits.string_bytes) {
    return ElfBeyondLimit("string section: bytes", strings.sh_size, limits.string_bytes);
  }
  auto read = FunctionsOf<Elf>(file, symbols, limits.functions - functions_.size());
  if (!read.ok()) return read.status();
  if (read->empty()) return absl::OkStatus();
  const auto names = file.ReadText(strings.sh_offset, strings.sh_size);
  if (!names) return BadElf("symbol names: beyond the end of the file");
  const std::string_view text = *names;
  const auto name_of = [&](const RawSymbol& s) -> std::string_view {
    if (s.name >= text.size()) return {};
    const std::string_view rest = text.substr(s.name, limits.name_bytes + 1);
    const size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
  };
  // Of several names of one address: the largest function, then the first by name.
  std::ranges::sort(*read, [&](const RawSymbol& a, const RawSymbol& b) {
    if (a.address != b.address) return a.address < b.address;
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return name_of(a) < name_of(b);
  });
  const auto known = static_cast<std::ptrdiff_t>(functions_.size());
  absl::Status status;
  for (const RawSymbol& s : *read) {
    const std::string_view name = name_of(s);
    if (name.empty()) continue;
    const auto known_end = functions_.begin() + known;
    if (functions_.size() > static_cast<size_t>(known) && functions_.back().address == s.address) {
      continue;
    }
    const auto at =
        std::ranges::lower_bound(functions_.begin(), known_end, s.address, {}, &Function::address);
    if (at != known_end && at->address == s.address) continue;
    // Symbols may share one long name: what is copied is bounded like what was read.
    if (names_.unpacked_bytes() + name.size() >= limits.string_bytes) {
      status = ElfBeyondLimit("function names: bytes", names_.unpacked_bytes() + name.size(),
                              limits.string_bytes);
      break;
    }
    functions_.push_back({s.address, s.bytes, names_.Append(name)});
  }
  std::ranges::inplace_merge(functions_, functions_.begin() + known, {}, &Function::address);
  return status;
}

std::string ElfSymbols::NameIn(int fd, uint64_t address) const {
  return indexed() ? index_.NameAt(ElfBytes(fd), address) : NameAt(address);
}

std::string ElfSymbols::NameAt(uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::address);
  if (after == functions_.begin()) return {};
  const Function& f = *(after - 1);
  // Beside an index there are the exported functions alone, and one without a size would own all up
  // to the next of them.
  if (f.bytes == 0 && indexed()) return {};
  if (f.bytes != 0 && address - f.address >= f.bytes) return {};
  return names_.At(f.name);
}

}  // namespace telltale::agent
