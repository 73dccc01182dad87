#include "collector/query/tier_scan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::query {
namespace {

using storage::FloorTo;

uint64_t CeilTo(uint64_t time_ns, uint64_t length_ns) {
  return FloorTo(time_ns + length_ns - 1, length_ns);
}

}  // namespace

bool Behind(const std::vector<storage::DirtyKey>& dirty, storage::Tier tier, uint64_t start_ns) {
  const uint64_t end_ns = start_ns + storage::WindowNs(tier);
  return std::any_of(dirty.begin(), dirty.end(), [&](const storage::DirtyKey& key) {
    return key.tier != storage::Tier::kRaw && key.tier <= tier && key.window_start_ns >= start_ns &&
           key.window_start_ns < end_ns;
  });
}

void ScanDefects::Add(const ScanDefects& of_others) {
  damaged.epochs += of_others.damaged.epochs;
  damaged.watched_ns += of_others.damaged.watched_ns;
  unreadable += of_others.unreadable;
  behind += of_others.behind;
  awaited += of_others.awaited;
  gone_ns += of_others.gone_ns;
}

void NoteDefects(const ScanDefects& defects, CoverageBuilder& coverage) {
  coverage.AddDamaged(defects.damaged);
  coverage.AddUnreadable(defects.unreadable);
  coverage.AddGone(defects.gone_ns);
  if (defects.behind != 0) {
    coverage.Note(absl::StrCat(
        defects.behind, " windows wait to be computed again: what came late is not in them"));
  }
  if (defects.awaited != 0) {
    coverage.Note(absl::StrCat(defects.awaited,
                               " windows are over and not computed yet, which takes a few minutes, "
                               "of hours and days half an hour: what is in them is not in this "
                               "answer"));
  }
}

struct TierScan::Part {
  const storage::NodeRecord& node;
  std::vector<storage::DirtyKey> dirty;
  Stretches rest;  // not visited yet
  Stretches done;
};

TierScan::TierScan(const Selection& selection, const Context& context, TierChoice choice,
                   storage::RollupParts windows, TierVisitor visitor, ScanCount* count)
    : selection_(selection),
      context_(context),
      choice_(choice),
      windows_(std::move(windows)),
      visitor_(std::move(visitor)),
      own_count_(context.limits, selection.nodes.size()),
      count_(count != nullptr ? *count : own_count_) {}

ScanDefects TierScan::defects() const {
  return {damaged_, static_cast<uint32_t>(unreadable_.size()), behind_, awaited_, gone_ns_};
}

absl::Status TierScan::Cancelled() const {
  if (!context_.cancelled()) return absl::OkStatus();
  return absl::CancelledError("query: the asker went away");
}

absl::Status TierScan::Windows(v1::Tier tier, bool touching, Part& part) {
  const uint64_t length = storage::WindowNs(StoreTier(tier));
  const std::vector<Stretch> wanted = part.rest.list();
  for (const Stretch& stretch : wanted) {
    const uint64_t from =
        touching ? FloorTo(stretch.from_ns, length) : CeilTo(stretch.from_ns, length);
    const uint64_t to = touching ? CeilTo(stretch.to_ns, length) : FloorTo(stretch.to_ns, length);
    if (to <= from) continue;
    absl::Status stopped;
    const auto unreadable = [&](uint64_t start_ns) {
      unreadable_.emplace(StoreTier(tier), part.node.number(), start_ns);
    };
    absl::Status scanned = context_.source->ForEachRollup(
        StoreTier(tier), part.node.number(), from, to, windows_,
        [&](const storage::RollupRow& row) {
          const uint64_t start = row.key.window_start_ns, end = start + length;
          if (row.window.epochs() == 0) {  // made when nothing under it could be read
            unreadable(start);
            return true;
          }
          const bool behind = Behind(part.dirty, StoreTier(tier), start);
          if (touching ? part.done.Overlaps(start, end) : behind) return true;
          stopped = Cancelled();
          if (stopped.ok()) stopped = count_.AddWindow();
          if (!stopped.ok()) return false;
          if (behind) ++behind_;
          visitor_.window(row);
          part.done.Add(start, end);
          part.rest.Remove(start, end);
          return true;
        },
        [&](const storage::DamagedRow& row) {
          for (uint64_t at = row.start_ns; at < row.end_ns; at += length) unreadable(at);
        });
    if (!stopped.ok()) return stopped;
    if (!scanned.ok()) return scanned;
  }
  return absl::OkStatus();
}

uint32_t TierScan::Awaited(const Part& part) const {
  const storage::Tier tier = StoreTier(choice_.coarsest);
  const uint64_t length = storage::WindowNs(tier);
  std::set<uint64_t> starts;
  for (const storage::DirtyKey& key : part.dirty) {
    if (key.tier == storage::Tier::kRaw || key.tier > tier) continue;
    const uint64_t start = FloorTo(key.window_start_ns, length), end = start + length;
    const bool over = start >= selection_.start_ns && end <= selection_.end_ns;
    if (over && !part.done.Overlaps(start, end)) starts.insert(start);
  }
  return static_cast<uint32_t>(starts.size());
}

absl::Status TierScan::Epochs(Part& part) {
  const uint64_t floor = context_.source->RawFloorNs();
  const std::vector<Stretch> wanted = part.rest.list();
  for (const Stretch& stretch : wanted) {
    const uint64_t from = std::max(stretch.from_ns, floor);
    if (from >= stretch.to_ns) continue;
    absl::Status stopped;
    absl::Status scanned = context_.source->ForEachEpoch(
        part.node.number(), from, stretch.to_ns, visitor_.parts,
        [&](const StoredEpoch& epoch) {
          // Windows may leave less than an epoch of the selection: no reason to take one more.
          const bool fragment = stretch.to_ns - from < selection_.end_ns - selection_.start_ns;
          const uint64_t middle = epoch.span.middle_ns();
          if (!Belongs(epoch.span, selection_.start_ns, selection_.end_ns)) return true;
          if (fragment && (middle < from || middle >= stretch.to_ns)) return true;
          stopped = Cancelled();
          if (stopped.ok()) stopped = count_.AddEpoch();
          if (!stopped.ok()) return false;
          visitor_.epoch(epoch);
          return true;
        },
        &damaged_);
    if (!stopped.ok()) return stopped;
    if (!scanned.ok()) return scanned;
    part.done.Add(from, stretch.to_ns);
    part.rest.Remove(from, stretch.to_ns);
  }
  return absl::OkStatus();
}

absl::Status TierScan::CountGone(const Part& part) {
  for (const Stretch& stretch : part.rest.list()) {
    const absl::StatusOr<storage::CoverageView> view =
        context_.source->Coverage(part.node.number(), stretch.from_ns, stretch.to_ns);
    if (!view.ok()) return view.status();
    gone_ns_ += view->watched_ns;
  }
  return absl::OkStatus();
}

absl::Status TierScan::Node(const storage::NodeRecord& node, const Stretches& time) {
  Part part{node, {}, time, {}};
  if (visitor_.window && !time.empty()) {
    part.dirty =
        context_.source->Dirty(node.number(), FloorTo(selection_.start_ns, storage::kDayNs),
                               CeilTo(selection_.end_ns, storage::kDayNs));
  }
  if (choice_.only && choice_.coarsest != v1::TIER_RAW) {
    absl::Status status = Windows(choice_.coarsest, /*touching=*/true, part);
    awaited_ += Awaited(part);
    return status;
  }
  for (const v1::Tier tier : {v1::TIER_1D, v1::TIER_1H, v1::TIER_5MIN}) {
    if (tier > choice_.coarsest || part.rest.empty()) continue;
    if (absl::Status status = Windows(tier, /*touching=*/false, part); !status.ok()) return status;
  }
  if (absl::Status status = Epochs(part); !status.ok()) return status;
  if (choice_.only || !visitor_.window) return CountGone(part);
  for (const v1::Tier tier : {v1::TIER_5MIN, v1::TIER_1H, v1::TIER_1D}) {
    if (part.rest.empty()) break;
    if (absl::Status status = Windows(tier, /*touching=*/true, part); !status.ok()) return status;
  }
  return CountGone(part);
}

absl::Status TierScan::All() {
  for (const storage::NodeRecord& node : selection_.nodes) {
    absl::Status status = Node(node, Stretches(selection_.start_ns, selection_.end_ns));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace telltale::query
