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
// Of a table that is a file, mapped: page cache, which the kernel takes back when it needs it.
constexpr size_t kMappedShare = 4;
constexpr size_t kBuiltIds = 4'096;  // remembered

}  // namespace

TableCache::TableCache(Options options)
    : options_(std::move(options)),
      store_(options_.store),
      tables_(options_.memory_bytes),
      first_(options_.first, NowNs()),
      again_(options_.again, NowNs()) {}

uint64_t TableCache::NowNs() const {
  return options_.mono_ns ? options_.mono_ns() : ClockNs(CLOCK_MONOTONIC);
}

TableCache::Found TableCache::Find(const std::string& build_id, const std::function<int()>& open) {
  if (const auto* known = tables_.Find(build_id)) return {*known};
  const uint64_t begun = ClockNs(CLOCK_THREAD_CPUTIME_ID), built = counts_.built;
  Got got = Get(build_id, open);
  // Building takes several times the table's memory for a moment, which the heap would keep.
  if (counts_.built != built) malloc_trim(0);
  counts_.ns += ClockNs(CLOCK_THREAD_CPUTIME_ID) - begun;
  if (got.found.table != nullptr) {
    tables_.Put(build_id, got.found.table, std::max(kLeastCost, got.cost));
  }
  return std::move(got.found);
}

TableCache::Got TableCache::Get(const std::string& build_id, const std::function<int()>& open) {
  std::optional<UnwindTable> kept = store_.Load(build_id);
  if (!kept) {
    TimeBudget& time = built_.contains(build_id) ? again_ : first_;
    if (!time.MayBegin(NowNs())) return {.found = {.table = nullptr, .postponed = true}};
    const int fd = open();
    if (fd < 0) return {};
    const uint64_t begun = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    UnwindTable built = Build(fd);
    close(fd);
    time.Took(ClockNs(CLOCK_THREAD_CPUTIME_ID) - begun);
    if (built_.size() >= kBuiltIds) built_.clear();
    built_.insert(build_id);
    if (built.size() > 0) kept = store_.Save(build_id, built);
    if (!kept) {
      const size_t bytes = built.bytes();
      return {{std::make_shared<UnwindTable>(std::move(built))}, bytes};
    }
  }
  const size_t bytes = kept->bytes();
  return {{std::make_shared<UnwindTable>(*std::move(kept))}, bytes / kMappedShare};
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
