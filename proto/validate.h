// Checks of a body and of cells that were just parsed: after them every index lies in its table,
// every count in its limit, every sum in 64 bits. One function per part of the body; ValidateBody
// calls them all. Free functions over const messages: any thread.
//
// Enum values unknown to this build are let through, since a newer agent may send them; 0
// (unspecified) is not where the field decides how the rest is read.

#ifndef TELLTALE_PROTO_VALIDATE_H_
#define TELLTALE_PROTO_VALIDATE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "proto/codec.h"
#include "proto/field_path.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::proto {

// No total, count or sum of one epoch may exceed this: 2^58 ns are 4,800 tasks blocked for ever on
// each of 1,000 CPUs; below it the sums that readers form over sub-series and rows stay within 64
// bits.
inline constexpr uint64_t kMaxTotal = uint64_t{1} << 58;
// 2100-01-01: leaves room in int64 to add an offset as large.
inline constexpr uint64_t kMaxUnixNs = 4'102'444'800ull * 1'000'000'000ull;
inline constexpr uint32_t kMaxVital = 127;
inline constexpr size_t kIncarnationBytes = 16;
inline constexpr size_t kBootIdBytes = 16;
inline constexpr size_t kBuildIdBytes = 32;
inline constexpr size_t kMaxFields = 32;
inline constexpr size_t kMaxSubs = 16;  // what a process column's number leaves room for
inline constexpr uint32_t kMaxTLog2 = 16;
inline constexpr uint32_t kAlwaysPpm = 1'000'000;

// What the parts of one body are checked against.
struct BodyContext {
  const Limits& limits;
  const v1::Schema* schema;  // nullptr: label and detail values are not checked; not owned
  size_t strings = 0;
  size_t frames = 0;
  size_t stacks = 0;
  uint64_t length_ms = 0;  // of the epoch, rounded up
  size_t seconds = 0;      // begun in the epoch, and one more for a cut that came late
  bool samples = true;     // false: of them only how many they stand for was kept
};

absl::Status ValidateBody(const v1::SummaryBody& body, const v1::Schema* schema,
                          const Limits& limits, bool samples = true);
absl::Status ValidateCells(const v1::SketchCells& cells);

// The parts of ValidateBody.
absl::Status ValidateEpoch(const FieldPath& at, const v1::Epoch& epoch, const Limits& limits);
absl::Status ValidateTables(const FieldPath& at, const v1::Tables& tables, const Limits& limits);
absl::Status ValidateVital(const FieldPath& at, const v1::Vital& vital, const BodyContext& context);
absl::Status ValidateSample(const FieldPath& at, const v1::FoldedSample& sample, size_t subs,
                            const v1::VitalDescriptor* descriptor, const BodyContext& context);
absl::Status ValidateHistogram(const FieldPath& at, const v1::Histogram& histogram,
                               const BodyContext& context);
absl::Status ValidateProcesses(const FieldPath& at, const v1::ProcessTable& table,
                               const BodyContext& context);
absl::Status ValidateEvent(const FieldPath& at, const v1::DiscreteEvent& event,
                           const BodyContext& context);
absl::Status ValidateGauges(const FieldPath& at, const v1::Gauges& gauges);
absl::Status ValidateLoss(const FieldPath& at, const v1::Loss& loss);

// A node, incarnation and sequence as they must be.
absl::Status ValidateIdentity(const FieldPath& at, const v1::Identity& identity);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_VALIDATE_H_
