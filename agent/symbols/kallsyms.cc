#include "agent/symbols/kallsyms.h"

#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/proc_file.h"
#include "agent/symbols/elf_file.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxSymbols = 1'000'000;
constexpr size_t kMaxNameBytes = 32 << 20;
constexpr size_t kMaxModules = 1'000;
constexpr uint64_t kMaxFunctionBytes = 1 << 20;  // farther from a symbol than this is in none
constexpr size_t kMaxNotes = 64 * 1024;

}  // namespace

uint32_t Kallsyms::ModuleIndex(std::string_view name, uint64_t address) {
  // Modules stand together in the list: look from the end.
  for (size_t i = modules_.size(); i-- > 0;) {
    if (modules_[i].name != name) continue;
    modules_[i].base = std::min(modules_[i].base, address);
    return static_cast<uint32_t>(i);
  }
  if (modules_.size() >= kMaxModules) return 0;
  modules_.push_back({std::string(name), address, nullptr});
  return static_cast<uint32_t>(modules_.size() - 1);
}

void Kallsyms::Load() {
  loaded_ = true;
  std::ifstream file(root_ + "/proc/kallsyms");
  struct Symbol {
    uint64_t address;
    uint32_t name;
    uint16_t module;
  };
  std::vector<Symbol> symbols;
  modules_.push_back({"", ~uint64_t{0}, nullptr});
  uint64_t text = 0;
  std::string line;
  while (std::getline(file, line) && symbols.size() < kMaxSymbols &&
         names_.unpacked_bytes() < kMaxNameBytes) {
    std::string_view rest = line;
    const auto address = TakeNumber(rest, 16);
    const std::string_view type = TakeWord(rest);
    const std::string_view name = TakeWord(rest);
    const std::string_view module = TakeWord(rest);
    if (!address || *address == 0 || name.empty()) continue;
    if (type != "t" && type != "T" && type != "w" && type != "W") continue;
    if (name == "_text" || (name == "_stext" && text == 0)) text = *address;
    const uint32_t in = ModuleIndex(module, *address);
    symbols.push_back({*address, names_.Append(name), static_cast<uint16_t>(in)});
  }
  if (text != 0) modules_[0].base = text;
  names_.Finish();
  std::ranges::stable_sort(symbols, {}, &Symbol::address);
  addresses_.reserve(symbols.size());
  name_of_.reserve(symbols.size());
  module_of_.reserve(symbols.size());
  for (const Symbol& s : symbols) {
    addresses_.push_back(s.address);
    name_of_.push_back(s.name);
    module_of_.push_back(s.module);
  }
  IdentifyModules();
}

void Kallsyms::IdentifyModules() {
  for (Module& module : modules_) {
    auto file = std::make_shared<CodeFile>();
    file->kind = v1::MAPPING_KIND_KERNEL;
    file->path = module.name.empty() ? "[kernel]" : module.name;
    std::string notes = absl::StrCat(root_, "/sys/kernel/notes");
    if (!module.name.empty()) {
      std::string_view bare = module.name;  // "[name]"
      if (bare.starts_with('[')) bare.remove_prefix(1);
      if (bare.ends_with(']')) bare.remove_suffix(1);
      if (bare.find('/') != std::string_view::npos) bare = "";
      notes = absl::StrCat(root_, "/sys/module/", std::string(bare), "/notes/.note.gnu.build-id");
    }
    if (const auto bytes = ReadBounded(notes, kMaxNotes); bytes.ok()) {
      file->build_id = GnuBuildId(*bytes);
    }
    if (file->build_id.empty() && module.name.empty()) {
      // No id: the kernel's version string tells builds apart.
      const auto version = ReadBounded(root_ + "/proc/version", 4'096);
      const uint64_t hash =
          version.ok() ? XXH3_64bits(version->data(), version->size()) : XXH3_64bits("", 0);
      file->build_id.assign(1, 'h');
      for (int i = 0; i < 8; ++i) file->build_id.push_back(static_cast<char>(hash >> (8 * i)));
    }
    module.file = std::move(file);
  }
}

int64_t Kallsyms::IndexAt(uint64_t address) const {
  const auto after = std::ranges::upper_bound(addresses_, address);
  if (after == addresses_.begin()) return -1;
  // Of several names of one address, the first in the list.
  const auto first = std::lower_bound(addresses_.begin(), after, *(after - 1));
  if (address - *first > kMaxFunctionBytes) return -1;
  return first - addresses_.begin();
}

CodeLocation Kallsyms::Locate(uint64_t address) {
  if (!loaded_) Load();
  const int64_t i = IndexAt(address);
  if (i < 0) return {};
  const Module& module = modules_[module_of_[i]];
  if (address < module.base) return {};
  return {module.file, address - module.base};
}

const std::string& Kallsyms::NameOf(int64_t symbol) {
  Opened& opened = opened_[symbol % kOpened];
  if (opened.symbol != symbol) opened = {symbol, names_.At(name_of_[symbol])};
  return opened.name;
}

std::string Kallsyms::NameAt(const CodeLocation& location) {
  if (!loaded_) Load();
  for (const Module& module : modules_) {
    if (module.file != location.file) continue;
    const int64_t i = IndexAt(module.base + location.offset);
    return i < 0 ? "" : NameOf(i);
  }
  return {};
}

}  // namespace telltale::agent
