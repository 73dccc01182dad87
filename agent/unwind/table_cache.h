// The unwind tables in use, by build id: from memory, else from disk, else built from the file. In
// memory the ones used last, up to a number of bytes. A file that cannot be opened now may be
// through another process later; one that has no unwind information, or too much, is remembered as
// such. One thread.

#ifndef TELLTALE_AGENT_UNWIND_TABLE_CACHE_H_
#define TELLTALE_AGENT_UNWIND_TABLE_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/symbols/lru_cache.h"
#include "agent/unwind/table_store.h"
#include "agent/unwind/unwind_table.h"

namespace telltale::agent {

class TableCache {
 public:
  struct Options {
    size_t memory_bytes = 8 << 20;    // of a table that is a file, mapped, a quarter counts
    size_t section_bytes = 32 << 20;  // of one file's .eh_frame
    TableStore::Options store;
  };
  struct Counts {
    uint64_t built = 0;
    uint64_t refused = 0;  // of these: no unwind information, damaged, or beyond the limits
    uint64_t ns = 0;       // CPU time of the thread, of what was not in memory: read or built
  };
  explicit TableCache(Options options);

  // `open`: gives a descriptor of the file, closed here, or -1. Null: it could not be opened. The
  // table lives as long as the caller keeps it.
  std::shared_ptr<const UnwindTable> Find(const std::string& build_id,
                                          const std::function<int()>& open);

  const Counts& counts() const { return counts_; }
  const TableStore::Counts& store_counts() const { return store_.counts(); }
  size_t bytes() const { return tables_.cost(); }

 private:
  struct Table {
    std::shared_ptr<const UnwindTable> table;
    size_t cost = 0;
  };
  Table Get(const std::string& build_id, const std::function<int()>& open);
  UnwindTable Build(int fd);

  const Options options_;
  TableStore store_;
  LruCache<std::string, std::shared_ptr<const UnwindTable>> tables_;
  Counts counts_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_TABLE_CACHE_H_
