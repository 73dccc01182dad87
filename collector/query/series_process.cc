#include "collector/query/series_process.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/process_filter.h"
#include "collector/query/tier_scan.h"
#include "collector/query/top_process.h"
#include "collector/query/top_sample.h"
#include "collector/query/top_table.h"
#include "collector/query/top_windows.h"
#include "collector/query/window_sums.h"
#include "storage/rollup/window_model.h"

namespace telltale::query {
namespace {

const v1::Vital* VitalOf(const StoredEpoch& epoch, uint32_t id) {
  for (const v1::Vital& vital : epoch.body->vitals()) {
    if (vital.id() == id) {
      return vital.state() == v1::VITAL_STATE_UNAVAILABLE ? nullptr : &vital;
    }
  }
  return nullptr;
}

Point PointOf(uint64_t start_ns, uint64_t length_ns, uint64_t watched_ns) {
  Point point;
  point.start_s = Seconds(start_ns);
  point.length_s = Seconds(length_ns);
  point.watched_s = Seconds(watched_ns);
  return point;
}

class ProcessReader {
 public:
  ProcessReader(const SeriesScan& asked, const std::string& process, SeriesLines& lines,
                CoverageBuilder& coverage)
      : asked_(asked),
        filter_(process),
        cache_(asked.context.source),
        lines_(lines),
        coverage_(coverage) {}

  absl::Status Run() {
    TierScan scan(asked_.selection, asked_.context, asked_.tier,
                  storage::RollupParts::Labels(asked_.vitals, /*run_time=*/true),
                  {[this](const StoredEpoch& epoch) { TakeEpoch(epoch); },
                   [this](const storage::RollupRow& row) { TakeWindow(row); },
                   {proto::BodyParts::Depth::kLabels, asked_.vitals}});
    if (absl::Status status = scan.All(); !status.ok()) return status;
    NoteDefects(scan.defects(), coverage_);
    if (undescribed_ > 0) {
      coverage_.Note(
          absl::StrCat(undescribed_, " windows whose vitals nobody described are left out"));
    }
    if (windows_ == 0 || !filter_.one_pid()) return filter_.Found("series");
    coverage_.Note(
        "windows keep no process numbers, so it is not drawn there; name its executable, or ask "
        "raw epochs (--tier raw)");
    return absl::OkStatus();
  }

 private:
  void TakeEpoch(const StoredEpoch& epoch) {
    coverage_.AddEpoch(epoch, asked_.book, asked_.vitals);
    StackNames names(&epoch.body->tables(), epoch.node, &cache_);
    LookForProcess(epoch, names, filter_);
    const Point point = PointOf(epoch.span.start_ns, epoch.span.end_ns - epoch.span.start_ns,
                                epoch.span.watched_ns);
    for (size_t i = 0; i < lines_.choices().size(); ++i) {
      const VitalChoice& choice = lines_.choices()[i];
      const v1::Vital* vital = VitalOf(epoch, choice.vital.id());
      if (vital == nullptr) continue;
      TopTable table(choice, v1::DIMENSION_PROCESS);
      table.AddTotal(static_cast<double>(choice.WeightOf(*vital)), 0);
      if (AccountsFor(epoch, choice) != Accounts::kNone) {
        AddProcesses(epoch, "", names, filter_, table);
      } else {
        RowBounds bounds;
        AddSamples(epoch, *vital, EntriesOf(epoch, *vital), "", names, filter_, table, bounds);
        for (const auto& [row, between] : bounds.Sum()) table.Bound(row, between.low, between.high);
        table.Unlisted(bounds.unlisted(), 0);
      }
      Add(i, epoch.node, point, table);
    }
  }

  void TakeWindow(const storage::RollupRow& row) {
    if (schema_ == nullptr || schema_->id() != row.window.schema_id()) {
      schema_ = asked_.context.source->Schema(row.window.schema_id());
    }
    if (schema_ == nullptr) {
      ++undescribed_;
      return;
    }
    coverage_.AddWindow(row, asked_.book, asked_.vitals);
    ++windows_;
    if (filter_.one_pid()) return;
    WindowSums sums({.vitals = asked_.vitals, .run_time = true});
    sums.Add(row.key.node,
             storage::FromRows(row.window, storage::TableView(row.tables), row.vitals, *schema_,
                               sums.parts()),
             *schema_);
    const Point point =
        PointOf(row.key.window_start_ns, storage::WindowNs(row.key.tier), row.window.watched_ns());
    for (size_t i = 0; i < lines_.choices().size(); ++i) {
      const VitalChoice& choice = lines_.choices()[i];
      VitalSum* sum = sums.Find(choice.vital.id());
      if (sum == nullptr || sum->state == v1::VITAL_STATE_UNAVAILABLE) continue;
      LookForExe(*sum, filter_);
      TopTable table(choice, v1::DIMENSION_EXE);
      AddWindows(*sum, {}, filter_, cache_, table);
      Add(i, row.key.node, point, table);
    }
  }

  void Add(size_t choice, uint32_t node, Point point, const TopTable& table) {
    const TopTable::Together sum = table.Sum();
    point.weight = sum.value;
    point.low = sum.low;
    // A process that has a row is whole there; a program may be in rows and among those without.
    const bool whole = filter_.one_pid() && sum.rows > 0;
    point.high = std::min(sum.high + (whole ? 0 : sum.unlisted), sum.total);
    point.min = point.max = point.weight / std::max(point.watched_s, 1e-3);
    lines_.AddPoint(choice, node, point);
  }

  const SeriesScan& asked_;
  ProcessFilter filter_;
  SymbolCache cache_;
  SeriesLines& lines_;
  CoverageBuilder& coverage_;
  std::shared_ptr<const v1::Schema> schema_;  // of the latest window
  uint32_t windows_ = 0, undescribed_ = 0;
};

}  // namespace

bool ProcessAffordable(v1::Tier tier, const Selection& selection, size_t vitals, bool one_pid) {
  // A day of a node in epochs, three in windows of 5 min with each vital; a pid as in a top answer.
  constexpr double kMaxEpochs = 1'500, kMaxPidEpochs = 20'000, kMaxVitalRows = 13'000;
  const double rows = RowsOf(tier, selection);
  if (tier == v1::TIER_RAW) return rows <= (one_pid ? kMaxPidEpochs : kMaxEpochs);
  return rows * static_cast<double>(vitals) <= kMaxVitalRows;
}

absl::Status ScanProcess(const SeriesScan& scan, const std::string& process, SeriesLines& lines,
                         CoverageBuilder& coverage) {
  return ProcessReader(scan, process, lines, coverage).Run();
}

}  // namespace telltale::query
