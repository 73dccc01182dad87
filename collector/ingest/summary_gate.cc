#include "collector/ingest/summary_gate.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/ingest/plausibility.h"
#include "proto/codec.h"
#include "sketch/time_units.h"
#include "storage/placement.h"

namespace telltale::ingest {
namespace {

constexpr size_t kRefusalBytes = 300;
constexpr size_t kShownNameBytes = 64;
constexpr uint32_t kUnknownSchemaRetryMs = 30'000;
constexpr uint64_t kLongestRetryMs = 3'600'000;

Rejected Reject(Count count, v1::Verdict verdict, v1::RemarkKind remark = v1::REMARK_KIND_REFUSED) {
  return {std::move(verdict), count, remark};
}

}  // namespace

v1::Verdict Refuse(uint64_t sequence, const std::string& reason) {
  v1::Verdict verdict;
  verdict.set_sequence(sequence);
  verdict.set_kind(v1::Verdict::REFUSED);
  verdict.set_permanent(true);
  verdict.set_reason(proto::SanitizeText(reason, kRefusalBytes));
  return verdict;
}

v1::Verdict RetryAfter(uint64_t sequence, const std::string& reason, uint32_t ms) {
  v1::Verdict verdict;
  verdict.set_sequence(sequence);
  verdict.set_kind(v1::Verdict::RETRY_AFTER);
  verdict.set_retry_after_ms(ms);
  verdict.set_reason(proto::SanitizeText(reason, kRefusalBytes));
  return verdict;
}

std::variant<Accepted, Rejected> CheckSummary(const GateInput& input) {
  const v1::Summary& summary = input.summary;
  const uint64_t sequence = summary.identity().sequence();
  const size_t limit = input.settings.max_summary_bytes;
  if (summary.body().size() > limit || summary.cells().size() > limit) {
    return Reject(Count::kRefusedOversize,
                  Refuse(sequence, absl::StrCat("summary: body ", summary.body().size(),
                                                " bytes, cells ", summary.cells().size(),
                                                " bytes, at most ", limit, " each; fold harder")));
  }
  if (summary.identity().node() != input.node_name) {
    return Reject(Count::kRefusedWrongNode,
                  Refuse(sequence, absl::StrCat("identity: node ",
                                                proto::SanitizeText(summary.identity().node(),
                                                                    kShownNameBytes),
                                                ", but the certificate is for ", input.node_name,
                                                "; a node writes only as itself")));
  }
  const std::string& incarnation = summary.identity().incarnation();
  if (incarnation.size() != input.incarnation.size() ||
      std::memcmp(incarnation.data(), input.incarnation.data(), incarnation.size()) != 0 ||
      sequence == 0) {
    return Reject(Count::kRefusedWrongIncarnation,
                  Refuse(sequence,
                         "identity: incarnation or sequence is not that of this stream's "
                         "spool; a spool sends what it holds under its own incarnation"));
  }
  if (input.schema == nullptr) {
    return Reject(Count::kRetrySchema,
                  RetryAfter(sequence,
                             absl::StrFormat("schema: id %016x is not known here; send it before "
                                             "the summaries that name it",
                                             summary.schema_id()),
                             kUnknownSchemaRetryMs),
                  v1::REMARK_KIND_UNSPECIFIED);
  }
  proto::Limits limits;
  limits.body_bytes = std::min(limits.body_bytes, limit);
  limits.cells_bytes = std::min(limits.cells_bytes, limit);
  auto decoded = proto::DecodeSummary(summary, *input.schema, limits);
  if (decoded.ok()) {
    // The cells are stored as they came, so they are checked now.
    if (auto cells = proto::DecodeCells(summary, limits); !cells.ok()) decoded = cells.status();
  }
  if (!decoded.ok()) {
    return Reject(Count::kRefusedMalformed,
                  Refuse(sequence, std::string(decoded.status().message())));
  }
  const storage::EpochSpan span = storage::PlaceEpoch(decoded->body->epoch());
  const uint64_t latest = input.now_unix_ns + input.settings.max_future_ns;
  if (span.end_ns > latest) {
    const uint64_t wait_ms = std::min((span.end_ns - latest) / kNsPerMs + 1, kLongestRetryMs);
    const double ahead_s = static_cast<double>(span.end_ns - input.now_unix_ns) / 1e9;
    return Reject(
        Count::kRetryFuture,
        RetryAfter(sequence,
                   absl::StrFormat("epoch: ends %.0f s in the collector's future, at most "
                                   "%d s; correct the node's clock",
                                   ahead_s, input.settings.max_future_ns / 1'000'000'000),
                   static_cast<uint32_t>(wait_ms)),
        v1::REMARK_KIND_CLOCK);
  }
  Judgement judgement = JudgeTotals(*decoded->body, *input.schema, input.cpus);
  if (judgement.belief == Belief::kImpossible) {
    return Reject(Count::kRefusedImpossible, Refuse(sequence, judgement.reason),
                  v1::REMARK_KIND_IMPLAUSIBLE);
  }
  return Accepted{std::move(decoded->body), std::move(judgement.reason)};
}

}  // namespace telltale::ingest
