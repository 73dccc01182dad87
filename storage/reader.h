// The read side of the store: what queries, metrics and filters call. Every call reads what was
// committed when it began. Times are nanoseconds since 1970 on the collector's clock, ranges are
// [from, to).
//
// Thread-safe; cheap to share, owned by the Store.

#ifndef TELLTALE_STORAGE_READER_H_
#define TELLTALE_STORAGE_READER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/dictionary.h"
#include "storage/history.h"
#include "storage/keys.h"
#include "storage/ledger.h"
#include "storage/node_registry.h"
#include "storage/rollup/stored_tables.h"
#include "storage/summary_store.h"
#include "telltale/v1/store.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {

// A stored summary; `summary` has no cells (they live in a family of their own).
struct RawRow {
  RawKey key;
  uint64_t end_ns = 0;  // collector's clock; the key has the start
  uint64_t digest = 0;  // of the envelope as it came, cells included
  v1::Summary summary;
};

// Where data is: of one tier for some nodes.
struct DataRange {
  Tier tier = Tier::kRaw;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

struct StoreSizeRow {
  std::string family;  // raw, cells, series, line, rollup_5min, rollup_1h, rollup_1d, derived, dict
  uint64_t bytes = 0;  // rollup_*: an estimate
  uint64_t rows = 0;
  uint64_t oldest_ns = 0;  // 0: unknown or empty
  uint64_t newest_ns = 0;
};

// One window of one node: totals of all vitals, and the tables into which its vital rows point.
struct RollupRow {
  RollupKey key;
  v1::RollupWindow window;
  StoredTables tables;  // the window's, where they are asked for as they are stored
  std::vector<std::pair<uint8_t, v1::RollupVital>> vitals;  // those asked for
};

// What of the windows of a node a scan needs; the default is all of it. The rest is left out before
// it is parsed.
struct RollupParts {
  RollupParts() = default;
  RollupParts(std::initializer_list<uint8_t> of) : vitals(of) {}
  // Totals and losses of some vitals, without their labels.
  static RollupParts Totals(std::span<const uint32_t> vitals);
  // Labels and groups of some vitals, with the tables as they are stored.
  static RollupParts Labels(std::span<const uint32_t> vitals, bool run_time);

  std::vector<uint8_t> vitals;   // whose own rows; empty: all. 0: none
  std::vector<uint32_t> totals;  // which of the window's totals; empty: all
  enum class Tables : uint8_t { kNone, kStored, kMade };
  Tables tables = Tables::kMade;
  bool histograms = true;
  bool run_time = true;
};

// These parts of a stored window's own row; `tables`: as they are stored, if the parts say so.
// DataLoss: it is none.
absl::Status DecodeWindow(std::string_view value, const RollupParts& parts,
                          v1::RollupWindow* window, StoredTables* tables);

// A stored row that cannot be read, or all between two that can.
struct DamagedRow {
  Family family = Family::kRaw;
  Tier tier = Tier::kRaw;
  uint8_t vital = 0;      // of line blocks
  uint32_t node = 0;      // of line blocks: the group
  uint64_t start_ns = 0;  // of its epoch, window, hour or bucket
  uint64_t end_ns = 0;    // of an epoch whose length is not known: as long as the node's are
};
// Told what a scan leaves out.
using DamagedVisitor = std::function<void(const DamagedRow& row)>;

// All scans: a row that cannot be read is told to `damaged` and left out; without one it ends the
// scan, and DataLoss (FailedPrecondition: a value of another program's version) names it.
class Reader {
 public:
  Reader(const History* history, Catalog* catalog, const NodeRegistry* registry,
         const SummaryStore* summaries, const Dictionary* dictionary);

  NodeList Nodes() const;
  std::optional<NodeRecord> Node(std::string_view name) const;
  std::optional<NodeRecord> Node(uint32_t number) const;

  // Counted summaries that overlap the range, ascending by start. False ends it.
  using RawVisitor = std::function<bool(const RawRow& row)>;
  absl::Status ForEachRaw(uint32_t node, uint64_t from_ns, uint64_t to_ns, const RawVisitor& visit,
                          const DamagedVisitor& damaged = {}) const;
  // Those stored apart (clones, conflicts) instead.
  absl::Status ForEachApart(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                            const RawVisitor& visit) const;
  // Sketch cells of a stored summary as they came (zstd of SketchCells); NotFound after 48 h.
  absl::StatusOr<std::string> Cells(const RawKey& key) const;

  // NotFound: no node ever sent it. The pointer is shared and immutable.
  absl::StatusOr<std::shared_ptr<const v1::Schema>> Schema(uint64_t id) const;

  // Name of a code location as the node itself gave it, or as two nodes agree on (dictionary.h).
  // Offset as in Tables.frame_offset; the name of the function that holds it needs an exact entry.
  std::optional<std::string> SymbolName(std::string_view build_id, uint64_t offset,
                                        uint32_t for_node) const;

  NodeCounters Counters(uint32_t node) const;
  uint64_t CountedEpochs(uint32_t node) const;  // of its counters
  std::vector<std::pair<Incarnation, SequenceLedger>> Ledgers(uint32_t node) const;
  absl::StatusOr<CoverageView> Coverage(uint32_t node, uint64_t from_ns, uint64_t to_ns) const;

  // Node-hours, ascending. Only hours that are over and settled are there: raw has the rest.
  using SeriesVisitor = std::function<bool(const SeriesKey& key, const v1::SeriesBlock& block)>;
  absl::Status ForEachSeries(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                             const SeriesVisitor& visit, const DamagedVisitor& damaged = {}) const;
  // Blocks of one vital, ascending by (bucket, group). `groups`: node number / 256, ascending;
  // empty: all of them.
  using LineVisitor = std::function<bool(const LineKey& key, const v1::LineBlock& block)>;
  absl::Status ForEachLine(Tier tier, uint8_t vital, uint64_t from_ns, uint64_t to_ns,
                           const LineVisitor& visit, const DamagedVisitor& damaged = {},
                           const std::vector<uint32_t>& groups = {}) const;
  // Windows of one node that begin in the range, ascending. Of a window whose rows cannot all be
  // read nothing is shown.
  using RollupVisitor = std::function<bool(const RollupRow& row)>;
  absl::Status ForEachRollup(Tier tier, uint32_t node, uint64_t from_ns, uint64_t to_ns,
                             const RollupParts& parts, const RollupVisitor& visit,
                             const DamagedVisitor& damaged = {}) const;

  // How often a row of this family could not be read since the store was opened.
  uint64_t Unreadable(Family family) const;
  uint64_t UnreadableInCatalog() const;
  // As Dictionary::Contradicted.
  uint64_t NamesContradicted() const;
  // Met by who reads the history beside this.
  void CountUnreadable(Family family, uint64_t rows = 1) const;

  // Which stored rows of coarser tiers may be behind what was taken in: keys of a node whose window
  // overlaps the range (tier kRaw: the series block of an hour), and line blocks whose bucket does.
  // A window is current when neither it nor a finer one inside it is listed, a line block when in
  // addition it is not. Ask for windows first, then for lines, then read: a mark moves from one to
  // the other only after its row was written.
  std::vector<DirtyKey> Dirty(uint32_t node, uint64_t from_ns, uint64_t to_ns) const;
  absl::StatusOr<std::vector<DirtyLineKey>> DirtyLines(Tier tier, uint64_t from_ns,
                                                       uint64_t to_ns) const;
  // Raw epochs and series blocks before this time have expired.
  uint64_t RawFloorNs() const;
  // When these groups of nodes (none: all) and hours last changed, see ingest_stamps.h.
  uint64_t Stamp(const std::vector<uint32_t>& groups, uint64_t from_ns, uint64_t to_ns) const;

  // Where data is for this node (0: for any), one entry per tier that has some.
  absl::StatusOr<std::vector<DataRange>> DataRanges(uint32_t node) const;
  absl::StatusOr<std::vector<StoreSizeRow>> Sizes() const;
  absl::StatusOr<uint64_t> DirtyWindows() const;
  uint64_t StoredSummaries() const;

 private:
  absl::Status ScanRaw(uint32_t node, uint64_t from_ns, uint64_t to_ns, bool apart,
                       const RawVisitor& visit, const DamagedVisitor& damaged) const;
  // Counts what cannot be read. OK: it was told and the scan goes on; else what ends it.
  absl::Status Skip(const absl::Status& why, const DamagedRow& row,
                    const DamagedVisitor& damaged) const;
  uint32_t FirstDayOf(uint32_t node) const;
  uint64_t UsualLengthNs(uint32_t node) const;  // of its epochs
  // Start of the first stored window of a node that lies in [from, to) or its partitions; 0: none.
  absl::StatusOr<uint64_t> FirstWindow(Tier tier, uint32_t node, uint64_t from_ns,
                                       uint64_t to_ns) const;

  const History* const history_;
  Catalog* const catalog_;
  const NodeRegistry* const registry_;
  const SummaryStore* const summaries_;
  const Dictionary* const dictionary_;
  mutable std::array<std::atomic<uint64_t>, kFamilies> unreadable_{};
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_READER_H_
