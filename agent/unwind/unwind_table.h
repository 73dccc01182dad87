// The unwind rules of one file's code, flattened: a rule holds from its row's address to the next
// row's. Four bytes a row: the address within its page of 4 KB, and an index into the distinct
// rules, of which there are few (cc1plus: 520,000 rows, some hundred rules).
//
// Immutable once built; any thread may look up.

#ifndef TELLTALE_AGENT_UNWIND_UNWIND_TABLE_H_
#define TELLTALE_AGENT_UNWIND_UNWIND_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "agent/unwind/unwind_rule.h"

namespace telltale::agent {

struct UnwindRow {
  uint16_t low = 0;   // of the address, within its page
  uint16_t rule = 0;  // index
  friend bool operator==(const UnwindRow&, const UnwindRow&) = default;
};

class UnwindTable {
 public:
  static constexpr unsigned kPageBits = 12;
  struct Limits {
    size_t rows = 4 << 20;
    size_t functions = 1 << 20;
    size_t rules = 65'535;
    uint64_t span = uint64_t{1} << 30;  // of the code: first to last address
  };
  UnwindTable() = default;  // knows no code

  // The rule at an address (the linker's); kNone's where there is none. Valid as long as the table.
  const UnwindRule& At(uint64_t address) const;

  size_t size() const { return parts_.rows.size(); }
  size_t bytes() const {
    return parts_.rows.size_bytes() + parts_.rules.size_bytes() + parts_.pages.size_bytes();
  }

  // The parts as they are kept on disk.
  struct Parts {
    uint64_t base = 0;                  // address of the first page
    std::span<const UnwindRule> rules;  // distinct; the first is kNone's
    std::span<const uint32_t> pages;    // first row at or after each page's begin; one more ends
                                        // the last
    std::span<const UnwindRow> rows;    // ascending
  };
  // `owner` keeps what the parts point to; null: the caller does, for longer than the table lives.
  // InvalidArgument where the parts do not agree.
  static absl::StatusOr<UnwindTable> FromParts(const Parts& parts,
                                               std::shared_ptr<const void> owner,
                                               const Limits& limits);
  const Parts& parts() const { return parts_; }

 private:
  Parts parts_;
  std::shared_ptr<const void> owner_;
};

// Collects the rules of functions in any order.
class UnwindTableBuilder {
 public:
  explicit UnwindTableBuilder(const UnwindTable::Limits& limits) : limits_(limits) {}

  // A function's code is [begin, end). Its rows follow by Add, ascending; what Add gives for an
  // address outside it is cut off.
  void BeginFunction(uint64_t begin, uint64_t end);
  void Add(uint64_t address, const UnwindRule& rule);

  bool full() const {
    return rows_.size() >= limits_.rows || functions_.size() > limits_.functions;
  }

  // ResourceExhausted: more than the limits. Where functions overlap the later begin wins.
  absl::StatusOr<UnwindTable> Finish();

 private:
  struct Function {
    uint64_t begin;
    uint32_t bytes;  // of one longer than that, all a table's code may span, these
    uint32_t first_row;
    uint64_t end() const { return begin + bytes; }
  };
  struct Row {
    uint32_t after_begin;  // of its function
    uint16_t rule;
  };
  uint16_t IndexOf(const UnwindRule& rule);

  const UnwindTable::Limits limits_;
  std::vector<Function> functions_;
  std::vector<Row> rows_;
  std::vector<UnwindRule> rules_{UnwindRule{}};
  absl::flat_hash_map<uint64_t, uint16_t> index_;  // by the rule's bytes
  uint16_t last_ = 0;                              // index given last
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_UNWIND_TABLE_H_
