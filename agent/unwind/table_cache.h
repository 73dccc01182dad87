// The unwind tables in use, by build id: from memory, else from disk, else built from the file. In
// memory the ones used last, up to a number of bytes. A file that cannot be opened now may be
// through another process later; one that has no unwind information, or too much, is remembered as
// such. Anybody may run one new program after the other, and where tables can be kept neither in
// memory nor on disk (no directory, a full disk, more programs than either holds) each stack would
// build them again: both may take a burst and a small share of the thread's time, each its own,
// beyond which stacks end where such a file begins, and say that. One thread.

#ifndef TELLTALE_AGENT_UNWIND_TABLE_CACHE_H_
#define TELLTALE_AGENT_UNWIND_TABLE_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "agent/symbols/lru_cache.h"
#include "agent/unwind/table_store.h"
#include "agent/unwind/time_budget.h"
#include "agent/unwind/unwind_table.h"

namespace telltale::agent {

class TableCache {
 public:
  struct Options {
    size_t memory_bytes = 8 << 20;    // of a table that is a file, mapped, a quarter counts
    size_t section_bytes = 32 << 20;  // of one file's .eh_frame
    // For what was not built before: as the agent starts that may be a host's every program.
    TimeBudget::Options first{.burst_ns = 2'000'000'000, .share = 0.005};
    TimeBudget::Options again{.burst_ns = 500'000'000, .share = 0.005};
    std::function<uint64_t()> mono_ns;  // null: CLOCK_MONOTONIC
    TableStore::Options store;
  };
  struct Counts {
    uint64_t built = 0;
    uint64_t refused = 0;  // of these: no unwind information, damaged, or beyond the limits
    uint64_t ns = 0;       // CPU time of the thread, of what was not in memory: read or built
  };
  explicit TableCache(Options options);

  struct Found {
    std::shared_ptr<const UnwindTable> table;  // lives as long as the caller keeps it
    bool postponed = false;                    // no table because there is no time now to build it
  };
  // `open`: gives a descriptor of the file, closed here, or -1. No table: it could not be opened,
  // or it is postponed. What has no build id is kept in memory only.
  Found Find(const std::string& build_id, const std::function<int()>& open);

  // Of those that are files, as TableStore::LetPagesGo.
  void LetPagesGo() { store_.LetPagesGo(); }

  const Counts& counts() const { return counts_; }
  const TableStore::Counts& store_counts() const { return store_.counts(); }
  size_t bytes() const { return tables_.cost(); }

 private:
  struct Got {
    Found found;
    size_t cost = 0;
  };
  Got Get(const std::string& build_id, const std::function<int()>& open);
  UnwindTable Build(int fd);
  uint64_t NowNs() const;

  const Options options_;
  TableStore store_;
  LruCache<std::string, std::shared_ptr<const UnwindTable>> tables_;
  absl::flat_hash_set<std::string> built_;  // build ids
  TimeBudget first_, again_;
  Counts counts_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_TABLE_CACHE_H_
