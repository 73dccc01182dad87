// What verify gathers while it reads `raw`, for the comparison with ledger, coverage and counters.
// One thread.

#ifndef TELLTALE_STORAGE_VERIFY_BOOKS_H_
#define TELLTALE_STORAGE_VERIFY_BOOKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "storage/keys.h"
#include "storage/ledger.h"
#include "storage/reader.h"
#include "storage/summary_store.h"

namespace telltale::storage {

// Sequence numbers as ranges.
class SequenceSet {
 public:
  bool Add(uint64_t sequence);  // false: was there
  // The numbers of [first, last] that are not there, as ranges.
  void Missing(uint64_t first, uint64_t last,
               const std::function<void(uint64_t first, uint64_t last)>& take) const;
  uint64_t size() const { return size_; }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // first -> last
  uint64_t size_ = 0;
};

class VerifyBooks {
 public:
  using Fault = std::function<void(const std::string& place, const std::string& what)>;

  // A counted summary. False: its number was read before.
  bool Add(const RawKey& key, const v1::SummaryBody& body);

  // One that was lost and salvaged: its number was taken in, its sums are not known.
  void AddLost(const RawKey& key);

  // How many numbers the ledgers of a node list as received that were not read and have not
  // expired.
  uint64_t Unread(const Reader& reader, const NodeRecord& node, uint16_t raw_floor) const;

  // Compares with what the store says of a node; days before the raw floor have expired.
  void Compare(const Reader& reader, Catalog& catalog, const NodeRecord& node, uint16_t raw_floor,
               const Fault& fault) const;

 private:
  struct Node {
    std::map<Incarnation, SequenceSet> read;
    std::map<uint16_t, uint64_t> epochs;  // by day
    NodeCounters sums;
    bool lost = false;  // some of what counters add up
  };
  static void CompareCoverage(Catalog& catalog, const NodeRecord& record, const Node& node,
                              uint16_t raw_floor, const Fault& fault);

  std::map<uint32_t, Node> nodes_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_VERIFY_BOOKS_H_
