#include "tests/support/store_check.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"

namespace telltale::testing {

std::string CheckBooks(storage::Store& store, uint32_t node, const std::set<uint64_t>& acked) {
  static const v1::Schema schema = proto::BuiltinSchema();
  std::set<uint64_t> readable;
  std::map<std::pair<uint8_t, uint8_t>, storage::Cumulative> sums;
  std::string wrong;
  absl::Status scanned =
      store.reader().ForEachRaw(node, 0, UINT64_MAX, [&](const storage::RawRow& row) {
        if (!readable.insert(row.key.sequence).second) {
          wrong = absl::StrCat("sequence ", row.key.sequence, " is read twice");
          return false;
        }
        absl::StatusOr<proto::Decoded> decoded = proto::DecodeSummary(row.summary, schema);
        if (!decoded.ok()) {
          wrong = absl::StrCat("sequence ", row.key.sequence, ": ", decoded.status().ToString());
          return false;
        }
        for (const v1::Vital& vital : decoded->body->vitals()) {
          for (int sub = 0; sub < vital.subs_size(); ++sub) {
            auto& sum = sums[{static_cast<uint8_t>(vital.id()), static_cast<uint8_t>(sub)}];
            sum.events += vital.subs(sub).events();
            sum.weight += vital.subs(sub).weight();
          }
        }
        return true;
      });
  if (!scanned.ok()) return scanned.ToString();
  if (!wrong.empty()) return wrong;
  for (uint64_t sequence : acked) {
    if (!readable.contains(sequence)) return absl::StrCat("acked ", sequence, " is lost");
  }
  uint64_t listed = 0;
  for (const auto& [incarnation, ledger] : store.reader().Ledgers(node)) {
    listed += ledger.received_count();
  }
  if (listed != readable.size()) {
    return absl::StrCat("ledger lists ", listed, ", readable are ", readable.size());
  }
  const storage::NodeCounters counters = store.reader().Counters(node);
  if (counters.epochs != readable.size()) {
    return absl::StrCat("counted ", counters.epochs, " epochs of ", readable.size());
  }
  if (counters.subs.size() != sums.size()) return "counters of other sub-series than stored";
  for (const auto& [sub, sum] : sums) {
    const storage::Cumulative& counted = counters.subs.at(sub);
    if (counted.weight != sum.weight || counted.events != sum.events) {
      return absl::StrCat("vital ", sub.first, "/", sub.second, " counted ", counted.weight,
                          ", stored ", sum.weight);
    }
  }
  return "";
}

}  // namespace telltale::testing
