// A filter of another version is another filter: what earlier versions found stays in the store,
// beside what the running one finds. Lists read all of them, and where two were shown the same
// hour of a node, the one that comes first. Free functions; any thread.

#ifndef TELLTALE_COLLECTOR_FILTER_FILTER_VERSIONS_H_
#define TELLTALE_COLLECTOR_FILTER_FILTER_VERSIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/derived.h"
#include "telltale/v1/filter.pb.h"

namespace telltale::filter {

struct FilterIdentity {
  std::string name;
  uint32_t version = 0;
  bool runs = true;  // false: of what it left open it will never say that it ended
};

// These and all others that outputs may be stored of: those that run, in their order, then the
// newest version first. DataLoss: as DerivedStore::Filters.
absl::StatusOr<std::vector<FilterIdentity>> WithStored(const storage::DerivedStore& store,
                                                       std::vector<FilterIdentity> filters);

// Whether anything is stored of a filter in [from, to), or was and cannot be read: one look,
// however many nodes there are.
bool HasOutputs(const storage::DerivedStore& store, uint32_t filter, uint64_t from_ns,
                uint64_t to_ns);

// Whether one of the `preferred` versions speaks of an hour of a node, so that what another one
// stored of it (`hour`, under `key`) is passed over. It does if it was shown the hour from where
// the other was, and had learned enough by then: while it learns it finds nothing, and that does
// not mean that nothing was there. Those who watch the fleet are shown no epochs and replace
// nothing.
bool IsReplaced(const storage::DerivedStore& store, std::span<const uint32_t> preferred,
                const storage::DerivedKey& key, const v1::FilterHour& hour);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FILTER_VERSIONS_H_
