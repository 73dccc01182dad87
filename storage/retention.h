// What expires when: by age and by size per tier, oldest raw first, whole partitions at a time.
// Only the collector's clock moves it. Driven by Store::Maintain on one thread.

#ifndef TELLTALE_STORAGE_RETENTION_H_
#define TELLTALE_STORAGE_RETENTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/dictionary.h"
#include "storage/history.h"
#include "storage/keys.h"
#include "storage/summary_store.h"

namespace telltale::storage {

struct RetentionOptions {
  uint32_t raw_days = 21;     // raw, series, derived
  uint32_t cells_hours = 48;  // rounded up to whole days
  uint32_t five_minute_days = 60;
  uint32_t hour_days = 400;
  uint32_t day_days = 5 * 366;
  // Bytes of single tiers, their oldest partitions go first; 0: no limit. Raw: with cells and
  // series.
  uint64_t max_raw_bytes = 0;
  uint64_t max_five_minute_bytes = 0;
  uint64_t max_hour_bytes = 0;
  uint64_t max_day_bytes = 0;
  uint64_t max_bytes = 0;  // of all families; 0: no limit
  // Of max_bytes, in percent, below which a tier is not cut for the others' sake.
  uint32_t guaranteed_five_minute = 15;
  uint32_t guaranteed_hour = 10;
  uint32_t guaranteed_day = 5;
};

// InvalidArgument: a coarser tier would end before a finer one, or the guaranteed shares leave
// nothing for raw.
absl::Status CheckRetention(const RetentionOptions& options);

class Retention {
 public:
  // All outlive this. `options` were checked. `opened_ns`: when this process took the store over,
  // for what waits until then; 0: nothing waits.
  Retention(RetentionOptions options, History* history, SummaryStore* summaries,
            Dictionary* dictionary, uint64_t opened_ns = 0);

  // Drops what is due at `now_ns`, the wall clock; returns how many partitions went.
  absl::StatusOr<uint32_t> Run(uint64_t now_ns);

  // From now on what is older than would be kept is too late on arrival. Drops nothing and leaves
  // nothing behind on disk; Run() does it, too.
  void JudgeArrivals(uint64_t now_ns);

  // The time ages are measured at: a clock far ahead of everything received is not believed.
  uint64_t ExpiryNow(uint64_t now_ns) const;

 private:
  // The first raw day to keep at this age; an older one while its windows are still to be computed.
  uint16_t FirstRawDay(uint64_t now_ns) const;
  // Whether no node ever sent anything that counts and nothing is stored of any.
  absl::StatusOr<bool> NeverUsed() const;
  absl::StatusOr<uint32_t> RunByAge(uint64_t now_ns);
  absl::StatusOr<uint32_t> RunBySize(uint64_t now_ns);
  // Whether there still is more than allowed; asked again after each partition that went.
  using TooMuch = std::function<absl::StatusOr<bool>()>;
  bool WaitsForWindows(uint16_t day, uint64_t now_ns);
  absl::StatusOr<uint32_t> CutRaw(uint64_t now_ns, const TooMuch& too_much);
  absl::StatusOr<uint32_t> CutTier(Tier tier, uint64_t now_ns, uint64_t kept_bytes,
                                   const TooMuch& too_much);
  // Each counts what can still be read. Files also hold what was dropped until they are compacted:
  // by their size the next run would cut for the same bytes again.
  absl::StatusOr<uint64_t> RawBytes() const;
  absl::StatusOr<uint64_t> TierBytes(Tier tier) const;
  absl::StatusOr<uint64_t> HeldBytes() const;  // of all families
  // Of the rows from `from` to `to` (empty: to the end) whose keys begin alike in so many bytes,
  // stretch by stretch.
  absl::StatusOr<uint64_t> BytesOf(Family family, std::string_view from, std::string_view to,
                                   size_t alike) const;
  absl::StatusOr<uint32_t> DropRawBefore(uint16_t day);
  absl::StatusOr<uint32_t> DropRollupBefore(Tier tier, uint64_t time_ns);
  // Names go after the last data that could refer to them, by age or by size.
  absl::StatusOr<uint32_t> DropNames();
  // Whether there was anything to drop.
  absl::StatusOr<bool> Drop(Family family, std::string_view from, std::string_view to);

  const RetentionOptions options_;
  History* const history_;
  SummaryStore* const summaries_;
  Dictionary* const dictionary_;
  const uint64_t opened_ns_;
  std::optional<uint64_t> waiting_since_ns_;  // of a day beyond a limit, for its windows
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_RETENTION_H_
