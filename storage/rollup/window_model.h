// What one window says, in memory and free of tables: an epoch is a small window, so epochs, 5
// minutes and hours merge by the same code. Made from a summary (FromSummary) or from stored rows
// (FromRows), merged (MergeWindows), written back (ToRows). Values and pure functions: any thread;
// nothing here depends on the order of children.

#ifndef TELLTALE_STORAGE_ROLLUP_WINDOW_MODEL_H_
#define TELLTALE_STORAGE_ROLLUP_WINDOW_MODEL_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sketch/histogram.h"
#include "sketch/label_merge.h"
#include "storage/placement.h"
#include "storage/rollup/portable.h"
#include "telltale/v1/store.pb.h"

namespace telltale::storage {

inline constexpr size_t kKeptGroups = 32;
inline constexpr size_t kExemplarLabels = 8;      // labels of a vital that keep an exemplar
inline constexpr size_t kWholeHistograms = 512;   // histograms of the whole node in a window
inline constexpr size_t kSubjectHistograms = 64;  // and of single subjects
inline constexpr uint32_t kSecondsParts = 4;      // r of the histogram of per-second weights
inline constexpr size_t kUnreadableParts = 24;    // a day's hours

struct LabelFacts {
  PortableLabel label;
  uint64_t stable_id = 0;
  uint32_t sub = 0;
  uint64_t sub_samples = 0;  // that speak for `sub`
  std::optional<PortableExemplar> exemplar;
};

// Weights by group. Ids of groups: digest of the text, or the uid.
struct GroupModel {
  sketch::LabelList list;                // samples: events
  std::map<uint64_t, std::string> text;  // of the groups by text
  bool estimated = false;
};
enum GroupIndex { kByExe = 0, kByUid = 1, kByCgroup = 2, kGroupings = 3 };

struct SubModel {
  uint64_t events = 0;
  uint64_t weight = 0;
  uint64_t second_min = UINT64_MAX;  // UINT64_MAX: no second known
  uint64_t second_max = 0;
  sketch::Histogram seconds;
};

struct VitalModel {
  v1::VitalState state = v1::VITAL_STATE_UNSPECIFIED;
  uint64_t quantum = 0;
  std::vector<SubModel> subs;
  std::map<int, v1::Loss> losses;
  sketch::LabelList labels;
  std::map<uint64_t, LabelFacts> facts;  // by exact id, of listed labels
  std::array<GroupModel, kGroupings> groups;
  bool has_groups = false;
};

// layer, operation, subject kind, subject
using HistogramKey = std::tuple<int, std::string, int, std::string>;
struct HistogramModel {
  v1::Unit unit = v1::UNIT_UNSPECIFIED;
  sketch::Histogram values;
  uint64_t entries = 0;
  uint64_t exits = 0;
  unsigned __int128 share_time = 0;  // share in ppm x time covered in ns
};

// Time of which nothing is known although it was stored once.
struct UnreadableTime {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t rows = 0;
  friend bool operator==(const UnreadableTime&, const UnreadableTime&) = default;
};

struct WindowModel {
  uint64_t latest_ns = 0;  // start of the latest epoch in it
  uint64_t watched_ns = 0;
  uint64_t covered_ns = 0;
  uint32_t epochs = 0;
  uint32_t partial_epochs = 0;
  uint64_t schema_id = 0;
  std::map<uint32_t, VitalModel> vitals;
  std::map<HistogramKey, HistogramModel> histograms;
  uint64_t histograms_dropped = 0;
  std::map<int, v1::Loss> losses;
  std::array<GroupModel, kGroupings> run_time;
  bool has_run_time = false;
  std::vector<UnreadableTime> unreadable;  // ascending
};

// The rows of one window as stored: the window's own, and one per vital.
struct WindowRows {
  v1::RollupWindow window;
  std::vector<std::pair<uint8_t, v1::RollupVital>> vitals;  // ascending by id
};

// What no label that an epoch does not list exceeds: what its node says of voted cells, the bound
// of its fullest cell with plain ones, and what of `total` the `lows` of listed labels leave. The
// same for windows and for answers from raw epochs.
uint64_t EpochThreshold(const v1::Vital& vital, uint64_t total, uint64_t lows);

// What of a window a reader needs; the default is all of it.
struct ModelParts {
  std::vector<uint32_t> vitals;  // ids; empty: all
  bool run_time = true;
  // False: no histograms of any kind, no stable ids of labels.
  bool distributions = true;
  std::vector<GroupIndex> groupings;  // of all group tables; empty: all
  // Whether the text of this group of a window is wanted, of its run time for vital 0. Empty:
  // always.
  std::function<bool(uint32_t vital, GroupIndex by, uint64_t group)> group_text;
  // Whether the facts of a label are wanted; `digest`: of its exemplar, if it has one. Empty:
  // always.
  std::function<bool(uint32_t vital, uint64_t label, std::optional<uint64_t> digest)> facts;
  // Whether the exemplar with this digest is wanted with them. Empty: always.
  std::function<bool(uint32_t vital, uint64_t label, uint64_t digest)> exemplar;

  bool Wants(uint32_t vital) const {
    return vitals.empty() || std::find(vitals.begin(), vitals.end(), vital) != vitals.end();
  }
  bool WantsText(uint32_t vital, GroupIndex by, uint64_t group) const {
    return !group_text || group_text(vital, by, group);
  }
  bool WantsGroups(int by) const {
    return groupings.empty() ||
           std::find(groupings.begin(), groupings.end(), by) != groupings.end();
  }
};

// An epoch as a window. `schema` describes the body.
WindowModel FromSummary(const v1::SummaryBody& body, const v1::Schema& schema,
                        const EpochSpan& span, uint64_t sequence, const ModelParts& parts = {});
// A stored window, from its own row, its tables and the rows of vitals. `schema` is the one its row
// names.
WindowModel FromRows(const v1::RollupWindow& window, const TableView& tables,
                     std::span<const std::pair<uint8_t, v1::RollupVital>> vitals,
                     const v1::Schema& schema, const ModelParts& parts = {});
// All children at once. Their order does not matter, except that equals are told apart by
// latest_ns. Of more than kUnreadableParts unreadable times those nearest to each other become one.
WindowModel MergeWindows(std::span<const WindowModel> children);
// Canonical: equal windows give equal bytes.
WindowRows ToRows(const WindowModel& model);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROLLUP_WINDOW_MODEL_H_
