// Names of kernel functions. Read when first asked for (some 120,000 lines, 50 ms), and again when
// other modules are loaded than then, which is looked at now and then while addresses outside the
// kernel's own code are asked for: what lies in a module that is not known, or was not at that
// place, would else be taken for the last function of the one before it.
//
// Locations are offsets from the start of the kernel's text (or a module's lowest symbol), so they
// do not tell where the kernel was loaded. Where the kernel hides its addresses, nothing is known.
// One thread.

#ifndef TELLTALE_AGENT_SYMBOLS_KALLSYMS_H_
#define TELLTALE_AGENT_SYMBOLS_KALLSYMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/symbols/packed_names.h"
#include "agent/symbols/resolver.h"

namespace telltale::agent {

class Kallsyms {
 public:
  static constexpr uint64_t kLookNs = 10'000'000'000;  // at the modules, at most that often

  // `root`: where /proc and /sys are, "/" or a test's directory. `mono_ns`: null: CLOCK_MONOTONIC.
  explicit Kallsyms(std::string root, std::function<uint64_t()> mono_ns = nullptr)
      : root_(std::move(root)), mono_ns_(std::move(mono_ns)) {}

  // file == nullptr: unknown.
  CodeLocation Locate(uint64_t address);
  // Function at a location that Locate gave; empty if unknown.
  std::string NameAt(const CodeLocation& location);

  size_t size() const { return addresses_.size(); }

 private:
  struct Module {
    std::string name;  // empty: the kernel itself
    uint64_t base = 0;
    uint64_t end = ~uint64_t{0};  // of its code, where that is told
    std::shared_ptr<const CodeFile> file;
  };
  // A module as /proc/modules lists it.
  struct Listed {
    std::string name;
    uint64_t base, end;
    bool operator==(const Listed&) const = default;
  };

  struct Opened {
    int64_t symbol = -1;
    std::string name;
  };
  static constexpr size_t kOpened = 1'024;

  void Load();
  std::vector<Listed> ReadModules() const;
  // Whether other modules are loaded by now, and so all is read again.
  bool LoadIfChanged();
  CodeLocation Known(uint64_t address) const;
  uint32_t ModuleIndex(std::string_view name, uint64_t address);
  void IdentifyModules();
  // Index of the symbol that holds `address`; -1 if none does.
  int64_t IndexAt(uint64_t address) const;
  const std::string& NameOf(int64_t symbol);

  const std::string root_;
  const std::function<uint64_t()> mono_ns_;
  bool loaded_ = false;
  uint64_t looked_ns_ = 0;  // at the modules
  std::vector<Listed> listed_;
  std::vector<uint64_t> addresses_;  // ascending
  std::vector<uint32_t> name_of_;    // [symbol]: its place in names_
  std::vector<uint16_t> module_of_;  // [symbol]
  std::vector<Module> modules_;
  PackedNames names_;
  // Opened lately, by index: the same few functions are where all wait.
  std::vector<Opened> opened_ = std::vector<Opened>(kOpened);
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_KALLSYMS_H_
