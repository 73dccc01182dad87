#include "agent/unwind/unwind_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kPage = uint64_t{1} << UnwindTable::kPageBits;
// Between functions compilers pad to 16 bytes; nobody returns into the padding, and rows that end a
// function there would make tables a third longer.
constexpr uint64_t kPadding = 16;

const UnwindRule kNothing;

struct Built {
  std::vector<UnwindRule> rules;
  std::vector<uint32_t> pages;
  std::vector<UnwindRow> rows;
};

absl::Status Bad(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("unwind table: ", what));
}

absl::Status CheckPages(const UnwindTable::Parts& parts) {
  uint32_t before = 0;
  for (const uint32_t first : parts.pages) {
    if (first < before || first > parts.rows.size()) return Bad("pages out of order");
    before = first;
  }
  if (before != parts.rows.size()) return Bad("rows outside its pages");
  for (size_t p = 0; p + 1 < parts.pages.size(); ++p) {
    for (uint32_t r = parts.pages[p]; r < parts.pages[p + 1]; ++r) {
      const UnwindRow& row = parts.rows[r];
      if (row.low >= kPage || row.rule >= parts.rules.size()) return Bad("row out of range");
      if (r > parts.pages[p] && row.low <= parts.rows[r - 1].low) return Bad("rows out of order");
    }
  }
  return absl::OkStatus();
}

}  // namespace

const UnwindRule& UnwindTable::At(uint64_t address) const {
  const auto& [base, rules, pages, rows] = parts_;
  const uint64_t page = (address - base) >> kPageBits;
  if (address < base || page + 1 >= pages.size()) return kNothing;
  const auto low = static_cast<uint16_t>(address & (kPage - 1));
  // The last row at or below `low`, without a branch that depends on the rows.
  const UnwindRow* first = rows.data() + pages[page];
  size_t count = pages[page + 1] - pages[page];
  while (count > 0) {
    const size_t half = (count + 1) / 2;
    first += first[half - 1].low <= low ? half : 0;
    count -= half;
  }
  // None in this page: the last one before it.
  return first == rows.data() ? kNothing : rules[first[-1].rule];
}

absl::StatusOr<UnwindTable> UnwindTable::FromParts(const Parts& parts,
                                                   std::shared_ptr<const void> owner,
                                                   const Limits& limits) {
  if (parts.rules.empty() || parts.rules.size() > limits.rules || !(parts.rules[0] == kNothing)) {
    return Bad("number of rules");
  }
  if (parts.rows.size() > limits.rows) return Bad("too many rows");
  if (parts.pages.size() > (limits.span >> kPageBits) + 2) return Bad("too many pages");
  if (parts.base % kPage != 0) return Bad("base within a page");
  if (absl::Status status = CheckPages(parts); !status.ok()) return status;
  UnwindTable table;
  table.parts_ = parts;
  table.owner_ = std::move(owner);
  return table;
}

void UnwindTableBuilder::BeginFunction(uint64_t begin, uint64_t end) {
  const uint64_t bytes = std::min<uint64_t>(end - begin, UINT32_MAX);
  functions_.push_back({begin, static_cast<uint32_t>(bytes), static_cast<uint32_t>(rows_.size())});
}

uint16_t UnwindTableBuilder::IndexOf(const UnwindRule& rule) {
  if (rule == rules_[last_]) return last_;
  const auto [it, added] =
      index_.try_emplace(std::bit_cast<uint64_t>(rule), static_cast<uint16_t>(rules_.size()));
  if (added && rules_.size() >= limits_.rules) {
    index_.erase(it);
    UnwindRule none;
    none.cfa = CfaRule::kUnsupported;
    return rule == none ? 0 : IndexOf(none);
  }
  if (added) rules_.push_back(rule);
  return last_ = it->second;
}

void UnwindTableBuilder::Add(uint64_t address, const UnwindRule& rule) {
  if (functions_.empty()) return;
  const Function& f = functions_.back();
  if (address < f.begin || address >= f.end()) return;
  const auto after = static_cast<uint32_t>(address - f.begin);
  if (rows_.size() > f.first_row && rows_.back().after_begin == after) {
    rows_.back().rule = IndexOf(rule);
    return;
  }
  rows_.push_back({after, IndexOf(rule)});
}

absl::StatusOr<UnwindTable> UnwindTableBuilder::Finish() {
  if (rows_.size() > limits_.rows) {
    return absl::ResourceExhaustedError(
        absl::StrCat("unwind table: more than ", limits_.rows, " rows"));
  }
  if (functions_.size() > limits_.functions) {
    return absl::ResourceExhaustedError(
        absl::StrCat("unwind table: more than ", limits_.functions, " functions"));
  }
  const auto end_of_rows = [this](uint32_t i) {
    return i + 1 < functions_.size() ? functions_[i + 1].first_row : rows_.size();
  };
  std::vector<uint32_t> order(functions_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return functions_[i].begin; });

  const auto built = std::make_shared<Built>();
  std::vector<uint32_t>& pages = built->pages;
  std::vector<UnwindRow>& rows = built->rows;
  built->rules = rules_;
  const uint64_t base = order.empty() ? 0 : functions_[order.front()].begin & ~(kPage - 1);
  uint64_t covered = base;  // code up to here has its rows
  uint16_t last_rule = 0;
  const auto put = [&](uint64_t address, uint16_t rule) {
    if (rule == last_rule) return;
    while (pages.size() <= (address - base) >> UnwindTable::kPageBits) {
      pages.push_back(static_cast<uint32_t>(rows.size()));
    }
    rows.push_back({static_cast<uint16_t>(address & (kPage - 1)), rule});
    last_rule = rule;
  };
  for (size_t at = 0; at < order.size(); ++at) {
    const Function& f = functions_[order[at]];
    const uint64_t next = at + 1 < order.size() ? functions_[order[at + 1]].begin : UINT64_MAX;
    const uint64_t end = std::min(f.end(), next);
    if (f.begin >= end) continue;
    if (f.end() - base > limits_.span) {
      return absl::ResourceExhaustedError(
          absl::StrCat("unwind table: code spans more than ", limits_.span, " bytes"));
    }
    if (f.begin >= covered + kPadding) put(covered, 0);
    for (size_t r = f.first_row; r < end_of_rows(order[at]); ++r) {
      const uint64_t address = f.begin + rows_[r].after_begin;
      if (address < end) put(address, rows_[r].rule);
    }
    covered = end;
  }
  put(covered, 0);
  pages.push_back(static_cast<uint32_t>(rows.size()));
  rows.shrink_to_fit();
  pages.shrink_to_fit();
  functions_ = {};
  rows_ = {};
  return UnwindTable::FromParts({base, built->rules, pages, rows}, built, limits_);
}

}  // namespace telltale::agent
