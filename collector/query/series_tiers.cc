#include "collector/query/series_tiers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/tier_scan.h"

namespace telltale::query {
namespace {

using storage::FloorTo;
using storage::kHourNs;

// No epoch is longer (the codec's limit): a shorter selection may lie in one of another hour.
constexpr uint64_t kLongestEpochNs = 120 * storage::kSecondNs;

uint32_t GroupOf(const storage::NodeRecord& node) {
  return node.number() / storage::kLineGroupNodes;
}

std::set<uint32_t> GroupsOf(const Selection& selection) {
  std::set<uint32_t> groups;
  for (const storage::NodeRecord& node : selection.nodes) groups.insert(GroupOf(node));
  return groups;
}

// The seconds of a sum of sub-series are in raw epochs alone: blocks keep the extremes of each. So
// many epochs are read for them; that is an hour of one node at the shortest usual epoch.
constexpr double kEpochsReadForSeconds = 400;

bool SecondsPay(const Selection& selection) {
  constexpr double kUsualEpochS = 60;
  const double seconds = Seconds(selection.end_ns - selection.start_ns);
  double epochs = 0;
  for (const storage::NodeRecord& node : selection.nodes) {
    const double length = node.info().epoch_length_s();
    epochs += seconds / (length > 0 ? length : kUsualEpochS);
  }
  return epochs <= kEpochsReadForSeconds;
}

// A line block holds a group of nodes: worth reading when at least one in so many is asked for.
bool LinesPay(const Selection& selection, size_t known) {
  constexpr size_t kWorth = 16;
  const size_t in_blocks =
      std::min<size_t>(known, GroupsOf(selection).size() * storage::kLineGroupNodes);
  return selection.nodes.size() * kWorth >= in_blocks;
}

class SeriesReader {
 public:
  SeriesReader(const SeriesScan& asked, SeriesLines& lines, CoverageBuilder& coverage)
      : asked_(asked),
        lines_(lines),
        coverage_(coverage),
        rest_(asked.selection, asked.context, asked.tier,
              storage::RollupParts::Totals(asked.vitals),
              {[this](const StoredEpoch& epoch) { TakeEpoch(epoch); },
               asked.inside_epochs ? std::function<void(const storage::RollupRow&)>()
                                   : [this](const storage::RollupRow& row) { TakeWindow(row); },
               {proto::BodyParts::Depth::kTotals, asked.vitals}}) {}

  absl::Status Run() {
    const bool windows = asked_.tier.coarsest != v1::TIER_RAW;
    const bool own_seconds = lines_.AddsSubs() && SecondsPay(asked_.selection);
    std::map<uint32_t, Stretches> left;
    for (const storage::NodeRecord& node : asked_.selection.nodes) {
      left.emplace(node.number(), Stretches(asked_.selection.start_ns, asked_.selection.end_ns));
    }
    absl::Status status;
    if (windows && LinesPay(asked_.selection, asked_.context.source->Nodes().size())) {
      status = AllLines(left);
      if (!status.ok()) return status;
    }
    if (windows && !asked_.tier.only && VeryMany()) LeaveTail(left);
    for (const storage::NodeRecord& node : asked_.selection.nodes) {
      Stretches& time = left[node.number()];
      if (!windows && !asked_.inside_epochs && !own_seconds) status = Blocks(node, time);
      if (status.ok()) status = rest_.Node(node, time);
      if (!status.ok()) return status;
    }
    NoteDefects(rest_.defects(), coverage_);
    if (unreadable_blocks_ > 0) {
      coverage_.Note(absl::StrCat(unreadable_blocks_,
                                  " stored blocks of a graph unreadable: what they were made of is "
                                  "read instead"));
    }
    return Losses();
  }

 private:
  void TakeEpoch(const StoredEpoch& epoch) {
    coverage_.AddEpoch(epoch, asked_.book, asked_.vitals);
    lines_.AddEpoch(epoch);
  }
  void TakeWindow(const storage::RollupRow& row) {
    coverage_.AddWindow(row, asked_.book, asked_.vitals);
    lines_.AddWindow(row);
  }

  // Series blocks of one node; what they hold leaves `time`.
  absl::Status Blocks(const storage::NodeRecord& node, Stretches& time) {
    const Selection& selection = asked_.selection;
    if (selection.end_ns - selection.start_ns <= kLongestEpochNs) return absl::OkStatus();
    std::set<uint64_t> behind;
    for (const storage::DirtyKey& key :
         asked_.context.source->Dirty(node.number(), selection.start_ns, selection.end_ns)) {
      if (key.tier == storage::Tier::kRaw) behind.insert(key.window_start_ns);
    }
    absl::Status stopped;
    absl::Status scanned = asked_.context.source->ForEachSeries(
        node.number(), FloorTo(selection.start_ns, kHourNs), selection.end_ns,
        [&](const storage::SeriesKey& key, const v1::SeriesBlock& block) {
          if (asked_.context.cancelled()) {
            stopped = absl::CancelledError("query: the asker went away");
            return false;
          }
          if (behind.contains(key.hour_start_ns)) return true;
          lines_.AddBlock(key, block, selection.start_ns, selection.end_ns, coverage_);
          const uint64_t end = key.hour_start_ns + kHourNs;
          time.Remove(key.hour_start_ns, end);
          by_blocks_[node.number()].Add(std::max(key.hour_start_ns, selection.start_ns),
                                        std::min(end, selection.end_ns));
          return true;
        },
        [this](const storage::DamagedRow&) { ++unreadable_blocks_; });
    return stopped.ok() ? scanned : stopped;
  }

  // Whether the windows at both ends of a graph would take longer than all between them, for
  // minutes of it. Of a shorter time they are a part that counts.
  bool VeryMany() const {
    constexpr size_t kManyNodes = 250;
    const Selection& selection = asked_.selection;
    const uint64_t end_ns = std::min(selection.end_ns, asked_.context.now_ns);
    return selection.nodes.size() >= kManyNodes && end_ns >= selection.start_ns + storage::kDayNs;
  }

  // Line blocks, coarsest first; what they hold leaves `left`, by node.
  absl::Status AllLines(std::map<uint32_t, Stretches>& left) {
    const storage::Tier coarsest = StoreTier(asked_.tier.coarsest);
    uint64_t start_ns = asked_.selection.start_ns;
    // The window it begins in is taken whole; the coverage says since when the values are.
    if (VeryMany()) start_ns = FloorTo(start_ns, storage::WindowNs(coarsest));
    absl::Status status = Lines(coarsest, start_ns, left);
    if (!status.ok() || asked_.tier.only || coarsest == storage::Tier::k5Min) return status;
    // The hour that goes on, and the one before it, of which some nodes have no window yet.
    const uint64_t hour = FloorTo(asked_.selection.end_ns, kHourNs);
    return Lines(storage::Tier::k5Min, std::max(asked_.selection.start_ns, hour - kHourNs), left);
  }

  absl::Status Lines(storage::Tier tier, uint64_t earliest_ns,
                     std::map<uint32_t, Stretches>& left) {
    const Selection& selection = asked_.selection;
    const Source& source = *asked_.context.source;
    const uint64_t window = storage::WindowNs(tier), bucket = storage::LineBucketNs(tier);
    // Whole windows, inside the selection; those that were asked for, touching it.
    uint64_t from = FloorTo(earliest_ns, window), to = FloorTo(selection.end_ns, window);
    if (asked_.tier.only) {
      if (to < selection.end_ns) to += window;
    } else if (from < earliest_ns) {
      from += window;
    }
    if (to <= from) return absl::OkStatus();
    // Windows first, then lines: see storage/reader.h.
    // Until when a block, of (group, bucket), says all there is: windows that wait to be computed
    // are not in it yet, as that of the last hour for a while.
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> until;
    const auto ends_at = [&](uint32_t group, uint64_t bucket_ns, uint64_t at_ns) {
      uint64_t& end = until.try_emplace({group, bucket_ns}, at_ns).first->second;
      end = std::min(end, at_ns);
    };
    const std::set<uint32_t> groups = GroupsOf(selection);
    for (const storage::NodeRecord& node : source.Nodes()) {
      if (!groups.contains(GroupOf(node))) continue;
      // Of the windows that are taken alone: that of the present hour has a mark at all times.
      for (const storage::DirtyKey& key : source.Dirty(node.number(), from, to)) {
        if (key.tier == storage::Tier::kRaw || key.tier > tier) continue;
        ends_at(GroupOf(node), FloorTo(key.window_start_ns, bucket),
                FloorTo(key.window_start_ns, window));
      }
    }
    absl::StatusOr<std::vector<storage::DirtyLineKey>> dirty = source.DirtyLines(tier, from, to);
    if (!dirty.ok()) return dirty.status();
    for (const storage::DirtyLineKey& key : *dirty) {
      ends_at(key.group, key.bucket_start_ns, key.bucket_start_ns);
    }

    std::set<uint32_t> known;
    for (const storage::NodeRecord& node : source.Nodes()) known.insert(GroupOf(node));
    std::vector<uint32_t> only;
    if (groups.size() < known.size()) only.assign(groups.begin(), groups.end());
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> used;          // until when
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> line_windows;  // by node and bucket
    uint32_t unreadable_lines = 0;
    const std::set<uint32_t> vitals(asked_.vitals.begin(), asked_.vitals.end());
    for (const uint32_t vital : vitals) {
      absl::Status stopped;
      absl::Status scanned = source.ForEachLine(
          tier, static_cast<uint8_t>(vital), from, to,
          [&](const storage::LineKey& key, const v1::LineBlock& block) {
            if (asked_.context.cancelled()) {
              stopped = absl::CancelledError("query: the asker went away");
              return false;
            }
            const std::pair<uint32_t, uint64_t> place{key.group, key.bucket_start_ns};
            const auto known_until = until.find(place);
            const uint64_t end =
                known_until == until.end() ? to : std::min(to, known_until->second);
            if (!groups.contains(key.group) || end <= std::max(from, key.bucket_start_ns)) {
              return true;
            }
            const auto counted = lines_.AddLine(key, block, from, end, left);
            if (!counted.has_value()) {
              ++unreadable_lines;
              return true;
            }
            used[place] = std::min(key.bucket_start_ns + bucket, end);
            AddLacking(key, block, from, end, left);
            for (const auto& [node, windows] : *counted) {
              uint32_t& most = line_windows[{node, key.bucket_start_ns}];
              most = std::max(most, windows);
            }
            return true;
          },
          [&](const storage::DamagedRow&) { ++unreadable_lines; }, only);
      if (!stopped.ok()) return stopped;
      if (!scanned.ok()) return scanned;
    }
    // The time of a single vital's is still to be read; of one among several it may not be.
    if (vitals.size() == 1) {
      unreadable_blocks_ += unreadable_lines;
    } else if (unreadable_lines > 0) {
      coverage_.Note(absl::StrCat(unreadable_lines,
                                  " stored blocks of a graph unreadable and left out; asked for "
                                  "alone, their vital is read from its windows"));
    }
    coverage_.AddLacking(static_cast<uint32_t>(std::exchange(lacking_, {}).size()));
    uint32_t windows = 0;
    for (const auto& [place, count] : line_windows) windows += count;
    coverage_.Used(static_cast<v1::Tier>(tier), windows, Seconds(window));
    if (windows > 0) coverage_.Covers(from, to);
    for (const storage::NodeRecord& node : selection.nodes) {
      for (const auto& [place, end] : used) {
        if (place.first != GroupOf(node)) continue;
        const uint64_t begin = std::max(place.second, from);
        left[node.number()].Remove(begin, end);
        by_blocks_[node.number()].Add(begin, end);
      }
    }
    return absl::OkStatus();
  }

  // What is in no whole window yet is in epochs alone, which are opened one by one. They are left
  // out, and the answer says so.
  void LeaveTail(std::map<uint32_t, Stretches>& left) {
    constexpr uint64_t kWindowNs = 300 * storage::kSecondNs;
    // By then the windows of all nodes are there (storage/rollup/roller.h).
    constexpr uint64_t kLaterNs = 300 * storage::kSecondNs;
    const uint64_t now_ns = asked_.context.now_ns;
    const uint64_t end_ns = std::min(asked_.selection.end_ns, now_ns);
    const uint64_t tail_ns =
        FloorTo(std::min(end_ns, now_ns - std::min(now_ns, kLaterNs)), kWindowNs);
    if (tail_ns >= end_ns) return;
    constexpr uint64_t kMinuteNs = 60 * storage::kSecondNs;
    for (auto& [node, time] : left) time.Remove(tail_ns, asked_.selection.end_ns);
    coverage_.Note(absl::StrCat(
        "a graph of so many nodes ends ", (end_ns - tail_ns + kMinuteNs - 1) / kMinuteNs,
        " min before its end: what is in no whole window yet is left out; ask fewer nodes or "
        "less than a day to see it"));
  }

  // Windows of a line block, asked for, that are not there or not whole.
  void AddLacking(const storage::LineKey& key, const v1::LineBlock& block, uint64_t from,
                  uint64_t to, const std::map<uint32_t, Stretches>& wanted) {
    const int marks = std::min(block.unreadable_node_size(), block.unreadable_window_size());
    const uint64_t length = storage::WindowNs(key.tier);
    for (int i = 0; i < marks; ++i) {
      const uint32_t node = key.group * storage::kLineGroupNodes + block.unreadable_node(i);
      const uint64_t start = key.bucket_start_ns + block.unreadable_window(i) * length;
      const auto time = wanted.find(node);
      if (time == wanted.end() || !time->second.Overlaps(start, start + length)) continue;
      if (start >= from && start < to) lacking_.emplace(node, start);
    }
  }

  // Blocks hold no losses: those of the same time, from the coarsest windows there are.
  absl::Status Losses() {
    if (by_blocks_.empty()) return absl::OkStatus();
    constexpr double kMaxWindows = 5000;
    // Days, and hours at both ends.
    const double each =
        Seconds(asked_.selection.end_ns - asked_.selection.start_ns) / 86400 + 2 * 24;
    if (each * static_cast<double>(by_blocks_.size()) > kMaxWindows) {
      coverage_.Note(
          "events lost are not added up over so many nodes; ask fewer nodes or a shorter "
          "time to see them");
      return absl::OkStatus();
    }
    TierScan scan(asked_.selection, asked_.context, {v1::TIER_1D, false},
                  storage::RollupParts::Totals(asked_.vitals),
                  {[this](const StoredEpoch& epoch) {
                     coverage_.AddEpochLosses(epoch, asked_.book, asked_.vitals);
                   },
                   [this](const storage::RollupRow& row) {
                     coverage_.AddWindowLosses(row, asked_.book, asked_.vitals);
                   },
                   {proto::BodyParts::Depth::kTotals, asked_.vitals}});
    for (const storage::NodeRecord& node : asked_.selection.nodes) {
      const auto time = by_blocks_.find(node.number());
      if (time == by_blocks_.end()) continue;
      if (absl::Status status = scan.Node(node, time->second); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const SeriesScan& asked_;
  SeriesLines& lines_;
  CoverageBuilder& coverage_;
  TierScan rest_;
  std::map<uint32_t, Stretches> by_blocks_;          // time served from blocks, by node
  std::set<std::pair<uint32_t, uint64_t>> lacking_;  // windows of line blocks: node, start
  uint32_t unreadable_blocks_ = 0;                   // read from finer data instead
};

}  // namespace

bool SeriesAffordable(v1::Tier tier, const Selection& selection, size_t vitals) {
  constexpr double kMaxBlocks = 1'500, kMaxValues = 1e6;
  const double nodes = static_cast<double>(selection.nodes.size());
  const double seconds = Seconds(selection.end_ns - selection.start_ns);
  if (tier == v1::TIER_RAW) return nodes * (seconds / 3600 + 1) <= kMaxBlocks;
  return RowsOf(tier, selection) * static_cast<double>(vitals) <= kMaxValues;
}

absl::Status ScanSeries(const SeriesScan& scan, SeriesLines& lines, CoverageBuilder& coverage) {
  return SeriesReader(scan, lines, coverage).Run();
}

}  // namespace telltale::query
