#include "agent/symbols/symbol_index.h"

#include <algorithm>

namespace telltale::agent {
namespace {

using Symbol = Elf64::Symbol;

constexpr size_t kReadAtOnce = 4'096;  // symbols

}  // namespace

absl::StatusOr<SymbolIndex> SymbolIndex::Read(const ElfBytes& file, const Elf64::Section& symbols,
                                              const Elf64::Section& names, const Limits& limits) {
  if (symbols.sh_size > limits.symbol_bytes) {
    return ElfBeyondLimit("symbol section: bytes", symbols.sh_size, limits.symbol_bytes);
  }
  SymbolIndex index;
  index.symbols_at_ = symbols.sh_offset;
  index.names_at_ = names.sh_offset;
  index.names_bytes_ = names.sh_size;
  index.name_bytes_ = limits.name_bytes;
  const size_t count = symbols.sh_size / sizeof(Symbol);
  std::vector<Symbol> read;
  for (size_t at = 0; at < count; at += read.size()) {
    read.resize(std::min(count - at, kReadAtOnce));
    if (!file.Read(symbols.sh_offset + at * sizeof(Symbol), read.data(),
                   read.size() * sizeof(Symbol))) {
      return BadElf("symbols: beyond the end of the file");
    }
    for (size_t i = 0; i < read.size(); ++i) {
      const Symbol& s = read[i];
      if (!IsNamedFunction(s)) continue;
      if (s.st_value > UINT32_MAX) continue;  // no program's code is so large
      if (index.functions_.size() >= limits.functions) {
        return ElfBeyondLimit("functions, more than", limits.functions, limits.functions);
      }
      index.functions_.push_back(
          {static_cast<uint32_t>(s.st_value), static_cast<uint32_t>(at + i)});
    }
  }
  std::ranges::sort(index.functions_);
  const auto repeated = std::ranges::unique(index.functions_, {}, &Function::address);
  index.functions_.erase(repeated.begin(), repeated.end());
  index.functions_.shrink_to_fit();
  return index;
}

std::string SymbolIndex::NameAt(const ElfBytes& file, uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::address);
  if (after == functions_.begin()) return {};
  const Function& function = *(after - 1);
  Symbol symbol;
  if (!file.Read(symbols_at_ + uint64_t{function.symbol} * sizeof symbol, &symbol, sizeof symbol)) {
    return {};
  }
  if (symbol.st_value != function.address || symbol.st_name >= names_bytes_) return {};
  if (symbol.st_size != 0 && address - symbol.st_value >= symbol.st_size) return {};
  const size_t most = std::min<uint64_t>(name_bytes_ + 1, names_bytes_ - symbol.st_name);
  std::optional<std::string> name = file.ReadText(names_at_ + symbol.st_name, most);
  if (!name) return {};
  const size_t end = name->find('\0');
  if (end == std::string::npos) return {};
  name->resize(end);
  return *std::move(name);
}

}  // namespace telltale::agent
