// A perf map: the list of functions that a program which makes code at run time (a JIT) writes for
// profilers, as it goes. One line a function: "START SIZE NAME", numbers hexadecimal. Code that is
// thrown away leaves its line behind; what was written last about an address counts.
//
// The text is any user's. What it may take is bounded; beyond that nothing is added. One thread.

#ifndef TELLTALE_AGENT_SYMBOLS_PERF_MAP_H_
#define TELLTALE_AGENT_SYMBOLS_PERF_MAP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"

namespace telltale::agent {

class PerfMap {
 public:
  struct Limits {
    size_t lines = 1'000'000;
    size_t name_bytes = 512;  // longer names are cut
    size_t bytes = 16 << 20;  // of memory
  };
  PerfMap() = default;
  explicit PerfMap(const Limits& limits) : limits_(limits) {}

  // What follows in the file. A line that is not whole yet waits for the rest of it; malformed ones
  // are skipped.
  void Append(std::string_view text);

  // The function at `address`; empty: unknown.
  std::string_view NameAt(uint64_t address) const;

  bool full() const { return full_; }  // a limit was reached: what came after it is missing
  size_t size() const { return functions_.size(); }
  size_t bytes() const { return functions_.size() * kFunctionBytes + names_.size(); }

 private:
  struct Function {
    uint64_t end;
    uint32_t name;  // offset into names_
  };
  static constexpr size_t kFunctionBytes = 32;  // with a tree's share of empty places

  void AddLine(std::string_view line);
  // [start, end) is this function's from now on.
  void Paint(uint64_t start, uint64_t end, uint32_t name);

  Limits limits_;
  absl::btree_map<uint64_t, Function> functions_;  // by start; they do not overlap
  std::string names_;                              // each ends with '\0'
  std::string begun_;                              // of a line
  bool skipping_ = false;                          // the rest of a line that is too long
  size_t lines_ = 0;
  bool full_ = false;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_PERF_MAP_H_
