// What filters emit: one value per (filter and version, node, hour), stored as produced. The
// content belongs to the filter code; this class gives it numbers, keys, order and retention. Also
// small durable state by name (a cursor, how far a filter ran).
//
// Thread-safe; one (filter, node) is written by one thread at a time.

#ifndef TELLTALE_STORAGE_DERIVED_H_
#define TELLTALE_STORAGE_DERIVED_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/history.h"
#include "storage/keys.h"

namespace telltale::storage {

class Reader;

class DerivedStore {
 public:
  static constexpr size_t kMaxStateBytes = 1 << 20;

  // `reader`: told what cannot be read; nullptr: nobody is.
  DerivedStore(History* history, Catalog* catalog, const Reader* reader = nullptr);

  // The number of (name, version), made durable when new; stable for ever. Name: <= 128 bytes.
  // DataLoss: the numbers cannot all be read.
  absl::StatusOr<uint32_t> FilterNumber(std::string_view name, uint32_t version);
  // Every (name, version) that has a number, by version. DataLoss: as above.
  absl::StatusOr<std::vector<std::pair<std::string, uint32_t>>> Filters() const;

  // Replaces the value of one node-hour. `version` ascends per key (an ingest number does well).
  // Durable after Sync().
  absl::Status Put(const DerivedKey& key, std::string_view value, uint64_t version);
  absl::Status Sync();
  absl::StatusOr<std::string> Get(const DerivedKey& key) const;  // NotFound: nothing emitted

  // Node-hours that begin in [from, to), ascending by (day, node, hour). False ends it. Those that
  // cannot be read are left out, counted by the reader and added to `unreadable`; an estimate.
  using Visitor = std::function<bool(const DerivedKey& key, std::string_view value)>;
  absl::Status ForEach(uint32_t filter, uint64_t from_ns, uint64_t to_ns, const Visitor& visit,
                       uint64_t* unreadable = nullptr) const;
  // Those of these nodes alone, ascending in each day by the nodes as given: others are not read.
  absl::Status ForEachOf(uint32_t filter, std::span<const uint32_t> nodes, uint64_t from_ns,
                         uint64_t to_ns, const Visitor& visit,
                         uint64_t* unreadable = nullptr) const;

  // Small durable values, written whole. NotFound: never written.
  absl::Status PutState(std::string_view name, std::string_view value, Durability durability);
  absl::StatusOr<std::string> GetState(std::string_view name) const;
  // For who opens a part on such values: those that cannot be read and are done without, as of
  // NoteLostRows; and one that is needed, as of NeededWhole (catalog_damage.h).
  void NoteLost(uint64_t values, std::string_view what, std::string_view then,
                std::string_view fault) const;
  absl::Status StateNeeded(absl::Status status, std::string_view name, std::string_view why) const;
  // Several of them, all or none.
  absl::Status PutStates(const std::vector<std::pair<std::string, std::string>>& states,
                         Durability durability);

 private:
  // Rows in [begin, end) of hours in [from, to).
  absl::Status ScanKeys(std::string_view begin, std::string_view end, uint64_t from_ns,
                        uint64_t to_ns, const Visitor& visit, uint64_t* unreadable) const;

  History* const history_;
  Catalog* const catalog_;
  const Reader* const reader_;
  std::mutex mutex_;  // one new filter number at a time
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_DERIVED_H_
