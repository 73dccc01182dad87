// Which parts of a stored body a reader needs. The rest is left out of its bytes before they are
// parsed: making messages nobody looks at is most of what opening a body costs. Free function: any
// thread.

#ifndef TELLTALE_PROTO_BODY_PARTS_H_
#define TELLTALE_PROTO_BODY_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::proto {

struct BodyParts {
  enum class Depth : uint8_t {
    kWhole,     // everything; `vitals` does not matter
    kLabels,    // no histograms, events and gauges
    kAccounts,  // totals, processes and gauges, of tables the strings; no samples
    kTotals,    // no tables, names, processes and gauges; of a sample only how many it stands for
  };
  Depth depth = Depth::kWhole;
  std::vector<uint32_t> vitals;  // ids; empty: all
};

// Whether KeepParts needs a field of a body at all; `path` as in columns.h.
bool NeedsField(const BodyParts& parts, const std::vector<int>& path);

bool NeedsVital(const BodyParts& parts, uint64_t id);

// The bytes of a v1.SummaryBody without what is not asked for. InvalidArgument: they are none.
absl::StatusOr<std::string> KeepParts(std::string_view body, const BodyParts& parts);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_BODY_PARTS_H_
