// What the summary store keeps in memory of one node: sequence ledgers, cumulative counters,
// quotas. A value; SummaryStore stages a copy, commits it to the catalog and then publishes it.

#ifndef TELLTALE_STORAGE_NODE_BOOK_H_
#define TELLTALE_STORAGE_NODE_BOOK_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/ledger.h"
#include "storage/summary_store.h"

namespace telltale::storage {

struct NodeBook {
  // Incarnations with data that has not expired; summaries of further ones are stored apart.
  static constexpr size_t kMaxLedgers = 1024;

  std::map<Incarnation, SequenceLedger> ledgers;
  NodeCounters counters;
  uint64_t name_bytes = 0;   // symbol names brought into ...
  uint16_t name_bucket = 0;  // ... this bucket of names of tier raw
  struct SchemaUse {
    uint16_t day = 0;   // latest day of an epoch that uses it; unused: when it was brought
    bool used = false;  // an epoch was stored that does
  };
  std::map<uint64_t, SchemaUse> schemas;  // that the node brought or its epochs use, by id
  uint16_t pruned_day = 0;                // the raw floor for which the books were pruned last
};

v1::CountersRecord EncodeCounters(const NodeBook& book);
// Fills counters and quotas. What a record of an older program does not say of its schemas is day
// 0.
absl::Status DecodeCounters(const v1::CountersRecord& record, NodeBook* book);

// Adds the totals of one summary, saturating.
void AddTotals(const v1::SummaryBody& body, bool partial, NodeCounters* counters);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_NODE_BOOK_H_
