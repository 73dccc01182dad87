#include "storage/verify_damage.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "storage/catalog_damage.h"
#include "storage/keys.h"

namespace telltale::storage {
namespace {

constexpr size_t kMostKeyBytes = 48;  // shown of a key

std::string_view TierWord(Tier tier) {
  switch (tier) {
    case Tier::kRaw:
      return "raw";
    case Tier::k5Min:
      return "5 min";
    case Tier::k1Hour:
      return "1 h";
    case Tier::k1Day:
      return "1 d";
  }
  return "unknown tier";
}

std::string At(uint32_t node, uint64_t ns, const NodeNames& node_name) {
  return absl::StrCat("node ", node_name(node), " at ", Moment(ns));
}

// What a key stands for; nothing: it does not decode.
std::string Meaning(std::string_view family, std::string_view key, const NodeNames& node_name) {
  if (family == FamilyName(Family::kRaw) || family == FamilyName(Family::kCells)) {
    if (const auto raw = DecodeRawKey(key); raw.ok()) {
      return absl::StrCat(At(raw->node, raw->start_ns, node_name), " sequence ", raw->sequence);
    }
  } else if (family == FamilyName(Family::kSeries)) {
    if (const auto series = DecodeSeriesKey(key); series.ok()) {
      return At(series->node, series->hour_start_ns, node_name);
    }
  } else if (family == FamilyName(Family::kLine)) {
    if (const auto line = DecodeLineKey(key); line.ok()) {
      return absl::StrCat(std::string(TierWord(line->tier)), " vital ", line->vital, " at ",
                          Moment(line->bucket_start_ns));
    }
  } else if (family == FamilyName(Family::kRollup)) {
    if (const auto window = DecodeRollupKey(key); window.ok()) {
      return absl::StrCat(std::string(TierWord(window->tier)), " ",
                          At(window->node, window->window_start_ns, node_name));
    }
  } else if (family == FamilyName(Family::kDerived)) {
    if (const auto hour = DecodeDerivedKey(key); hour.ok()) {
      return absl::StrCat("filter ", hour->filter, " ",
                          At(hour->node, hour->hour_start_ns, node_name));
    }
  } else if (family == FamilyName(Family::kDict)) {
    if (const auto name = DecodeNameKey(key); name.ok()) {
      const NamePartition of = name->partition;
      return absl::StrCat("names of ", std::string(TierWord(of.tier)), " to ",
                          Moment(NamePartitionEndNs(of)));
    }
  } else if (!key.empty()) {
    return CatalogTableName(key);
  }
  return "";
}

std::string Where(std::string_view family, std::string_view key, const NodeNames& node_name) {
  const std::string meaning = Meaning(family, key, node_name);
  return absl::StrCat(meaning, meaning.empty() ? "" : " ", "(key ",
                      absl::BytesToHexString(std::string(key.substr(0, kMostKeyBytes))),
                      key.size() > kMostKeyBytes ? "..." : "", ")");
}

}  // namespace

std::string Moment(uint64_t ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixSeconds(static_cast<int64_t>(ns / kSecondNs)),
                          absl::UTCTimeZone());
}

std::string DamagePlace(std::string_view family, const DamagedRange& range,
                        const NodeNames& node_name) {
  return absl::StrCat(
      std::string(family), ", ",
      range.after.empty() ? "from its first row"
                          : absl::StrCat("behind ", Where(family, range.after, node_name)),
      range.before.empty() ? " to its last"
                           : absl::StrCat(", before ", Where(family, range.before, node_name)));
}

std::string DamageText(const DamagedRange& range) {
  return absl::StrCat("about ", range.rows, " rows cannot be read: ", range.why);
}

std::string BadFileText(std::string_view file, std::string_view family, const absl::Status& fault) {
  return absl::StrCat(std::string(file), " of ", std::string(family), ": ",
                      std::string(fault.message()));
}

std::string_view LossOf(std::string_view family) {
  if (family == FamilyName(Family::kRaw)) {
    return "epochs; answers name their time as one that cannot be read, windows made of them "
           "before stand. A collector starts without them";
  }
  if (family == FamilyName(Family::kCells)) {
    return "sketch cells of epochs, kept for two days; the epochs stand. A collector starts "
           "without them";
  }
  if (family == FamilyName(Family::kRollup)) {
    return "windows; finer data stands in their place while it is kept, answers name the rest. A "
           "collector starts without them";
  }
  if (family == FamilyName(Family::kSeries) || family == FamilyName(Family::kLine)) {
    return "prepared graphs; they are drawn from windows and epochs instead. A collector starts "
           "without them";
  }
  if (family == FamilyName(Family::kDerived)) {
    return "what filters found in these hours; the log of anomalies stands, filters go on from "
           "the hour before. A collector starts without them";
  }
  if (family == FamilyName(Family::kDict)) {
    return "names of functions; their frames show as file and offset until their nodes tell them "
           "again, within a week. A collector starts without them";
  }
  return "rows of the tables above. A collector starts without anomalies, incidents, silences, "
         "notes, tokens, audit, coverage and marks of windows, which it computes again; not "
         "without what is known of nodes, ledgers, counters, schemas, numbers of filters and "
         "certificates: restore a backup";
}

}  // namespace telltale::storage
