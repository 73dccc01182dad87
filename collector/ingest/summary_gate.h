// The checks one summary passes before it may be stored, cheapest first: sizes, identity, decoding,
// time, plausibility. Pure: no store, no stream; shard thread (or a test).

#ifndef TELLTALE_COLLECTOR_INGEST_SUMMARY_GATE_H_
#define TELLTALE_COLLECTOR_INGEST_SUMMARY_GATE_H_

#include <cstdint>
#include <string>
#include <variant>

#include "collector/ingest/ingest_options.h"
#include "collector/ingest/ingest_stats.h"
#include "proto/open_body.h"
#include "storage/keys.h"
#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/store.pb.h"

namespace telltale::ingest {

struct GateInput {
  const v1::Summary& summary;
  const std::string& node_name;             // of the certificate
  const storage::Incarnation& incarnation;  // of the stream
  const v1::Schema* schema = nullptr;       // null: unknown
  uint32_t cpus = 1;
  uint64_t now_unix_ns = 0;
  const IngestSettings& settings;
};

struct Accepted {
  proto::OpenBody body;
  std::string implausible;  // stored, but this should be remarked; empty: nothing
};

struct Rejected {
  v1::Verdict verdict;
  Count count = Count::kRefusedMalformed;
  v1::RemarkKind remark = v1::REMARK_KIND_REFUSED;  // unspecified: none
};

std::variant<Accepted, Rejected> CheckSummary(const GateInput& input);

// Verdicts in the few shapes they come in. Reasons are cut to what a log line bears.
v1::Verdict Refuse(uint64_t sequence, const std::string& reason);
v1::Verdict RetryAfter(uint64_t sequence, const std::string& reason, uint32_t ms);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_SUMMARY_GATE_H_
