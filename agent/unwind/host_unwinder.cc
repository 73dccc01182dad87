#include "agent/unwind/host_unwinder.h"

#include "agent/clock_ns.h"
#include "agent/symbols/vdso.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {

// For one walk: remembers the tables of the few files that a stack passes through.
class HostUnwinder::Finder : public CodeFinder {
 public:
  Finder(HostUnwinder& owner, const ProcessRef& process, uint64_t reading, uint64_t now_ns)
      : owner_(owner), process_(process), reading_(reading), now_ns_(now_ns) {}

  CodeAt Find(uint64_t address) override {
    Known& known = owner_.known_[Slot(address)];
    if (known.address == address && known.reading == reading_) return known.code;
    const CodeAt code = Look(address);
    // A process may have to be read again for it: what it had before is not to be mixed up.
    reading_ = owner_.maps_->Reading(process_, now_ns_);
    // What is postponed may be there for the next stack.
    const bool found = code.kind == CodeAt::Kind::kFile || code.kind == CodeAt::Kind::kGenerated;
    if (found && !code.postponed) known = {reading_, address, code};
    return code;
  }

 private:
  size_t Slot(uint64_t address) const {
    return ((address ^ reading_ << 40) * 0x9E3779B97F4A7C15) >> (64 - kKnownBits);
  }

  CodeAt Look(uint64_t address) {
    const auto place = owner_.maps_->Find(process_, address, now_ns_);
    if (!place) {
      const bool beyond = owner_.maps_->IsBeyondKnown(process_, address, now_ns_);
      return {.kind = beyond ? CodeAt::Kind::kBeyond : CodeAt::Kind::kNothing, .rule = {}};
    }
    const ProcessMaps::Mapped& mapped = *place->mapped;
    const v1::MappingKind kind = mapped.file->kind;
    if (kind != v1::MAPPING_KIND_FILE && kind != v1::MAPPING_KIND_VDSO) {
      return {.kind = CodeAt::Kind::kGenerated, .rule = {}};
    }
    const TableCache::Found& found = TableOf(mapped);
    return {.kind = CodeAt::Kind::kFile,
            .rule = found.table == nullptr ? UnwindRule() : found.table->At(place->address),
            .postponed = found.postponed};
  }

  const TableCache::Found& TableOf(const ProcessMaps::Mapped& mapped) {
    for (const auto& [serial, found] : tables_) {
      if (serial == mapped.serial) return found;
    }
    return tables_.emplace_back(mapped.serial, owner_.TableOf(process_, mapped)).second;
  }

  HostUnwinder& owner_;
  const ProcessRef& process_;
  uint64_t reading_;
  const uint64_t now_ns_;
  std::vector<std::pair<uint64_t, TableCache::Found>> tables_;
};

HostUnwinder::HostUnwinder(Options options, std::shared_ptr<ProcessMaps> maps)
    : options_(std::move(options)), maps_(std::move(maps)), tables_(options_.tables) {}

TableCache::Found HostUnwinder::TableOf(const ProcessRef& process,
                                        const ProcessMaps::Mapped& mapped) {
  const CodeFile& file = *mapped.file;
  // By its id too: tables on disk outlive the kernel that brought it.
  if (file.kind == v1::MAPPING_KIND_VDSO) return tables_.Find(file.build_id, OpenVdso);
  return tables_.Find(file.build_id,
                      [&] { return maps_->OpenMapped(process, file, mapped.inode); });
}

void HostUnwinder::Unwind(const UserCopy& copy, RawSample& sample) {
  const uint64_t begun = ClockNs(CLOCK_MONOTONIC);
  RawStack& stack = sample.stack;
  const ProcessRef process{sample.tgid, sample.start_ns, sample.exe, sample.cgroup_id,
                           sample.parent};
  stack.user.clear();
  stack.user_errno = 0;
  const uint64_t reading = maps_->Reading(process, sample.mono_ns);
  if (reading == 0) {
    stack.user.push_back(copy.registers[kRip]);
    stack.user_end = UserEnd::kProcessGone;
  } else if (copy.stack.empty()) {
    stack.user.push_back(copy.registers[kRip]);
    stack.user_end = UserEnd::kUnreadable;
  } else {
    Finder finder(*this, process, reading, sample.mono_ns);
    stack.user.reserve(32);
    stack.user_end = WalkStack(copy, finder, options_.max_frames, stack.user);
  }
  ++counts_.stacks;
  counts_.frames += stack.user.size();
  counts_.ns += ClockNs(CLOCK_MONOTONIC) - begun;
}

void HostUnwinder::OnDeparture(const RawDeparture& departure) {
  ProcessMaps::Departed departed{.regions = {}, .cut = departure.cut, .ns = departure.mono_ns};
  for (const RawDeparture::Region& r : departure.regions) {
    departed.regions.push_back(
        {r.start, r.end, r.file_offset, r.device, r.inode, r.vdso ? kVdsoPath : ""});
  }
  maps_->Remember({.tgid = departure.tgid, .start_ns = departure.start_ns, .exe = departure.exe},
                  std::move(departed));
}

uint64_t HostUnwinder::TakeTableNs() {
  const uint64_t before = std::exchange(table_ns_taken_, tables_.counts().ns);
  return table_ns_taken_ - before;
}

RawUnwinding HostUnwinder::EndEpoch() {
  // Stacks of the next epoch may be of other programs.
  tables_.LetPagesGo();
  RawUnwinding now = counts_;
  counts_ = {};
  const TableStore::Counts& store = tables_.store_counts();
  now.tables_built = tables_.counts().built - taken_.tables_built;
  now.tables_loaded = store.loaded - taken_.tables_loaded;
  now.tables_damaged = store.damaged - taken_.tables_damaged;
  now.tables_unsaved = store.failed - taken_.tables_unsaved;
  now.table_bytes = tables_.bytes();
  taken_.tables_built += now.tables_built;
  taken_.tables_loaded += now.tables_loaded;
  taken_.tables_damaged += now.tables_damaged;
  if (now.tables_unsaved > 0 && taken_.tables_unsaved == 0) {
    spdlog::warn(
        "unwind tables: {}; the next start reads the programs anew; mend the disk or set "
        "unwind.dir",
        store.last_failure);
  }
  taken_.tables_unsaved += now.tables_unsaved;
  return now;
}

}  // namespace telltale::agent
