#include "agent/unwind/table_cache.h"

#include <elf.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/clock_ns.h"
#include "agent/symbols/elf_file.h"
#include "agent/unwind/call_frames.h"

namespace telltale::agent {
namespace {

constexpr size_t kLeastCost = 128;  // of an empty table, in bytes

}  // namespace

TableCache::TableCache(Options options)
    : options_(std::move(options)), store_(options_.store), tables_(options_.memory_bytes) {}

std::shared_ptr<const UnwindTable> TableCache::Find(const std::string& build_id,
                                                    const std::function<int()>& open) {
  if (const auto* known = tables_.Find(build_id)) return *known;
  const uint64_t begun = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  std::shared_ptr<const UnwindTable> table = Get(build_id, open);
  counts_.ns += ClockNs(CLOCK_THREAD_CPUTIME_ID) - begun;
  if (table == nullptr) return nullptr;
  return tables_.Put(build_id, table, std::max(kLeastCost, table->bytes()));
}

std::shared_ptr<const UnwindTable> TableCache::Get(const std::string& build_id,
                                                   const std::function<int()>& open) {
  std::shared_ptr<const UnwindTable> table;
  if (std::optional<UnwindTable> kept = store_.Load(build_id)) {
    table = std::make_shared<UnwindTable>(*std::move(kept));
  } else {
    const int fd = open();
    if (fd < 0) return nullptr;
    table = std::make_shared<UnwindTable>(Build(fd));
    close(fd);
    if (table->size() > 0) store_.Save(build_id, *table);
    // Building takes several times the table's memory for a moment, which the heap would keep.
    malloc_trim(0);
  }
  return table;
}

UnwindTable TableCache::Build(int fd) {
  absl::StatusOr<CallFrames> frames = absl::NotFoundError("");
  const absl::StatusOr<ElfSection> section =
      ReadElfSection(fd, EM_X86_64, ".eh_frame", options_.section_bytes);
  if (section.ok()) frames = ParseEhFrame(section->bytes, section->address, options_.store.limits);
  ++counts_.built;
  if (frames.ok() && frames->functions > 0) return std::move(frames->table);
  ++counts_.refused;
  return {};
}

}  // namespace telltale::agent
