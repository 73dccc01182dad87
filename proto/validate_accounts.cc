// Histograms and the process table.
#include <bitset>

#include "absl/strings/str_cat.h"
#include "proto/validate.h"

namespace telltale::proto {
namespace {

constexpr size_t kOperationBytes = 64;
constexpr size_t kMaxProcessColumns = 512;
constexpr uint32_t kColumnNumbers =
    v1::PROCESS_COLUMN_FIRST_VITAL + (kMaxVital + 1) * 32;  // one past the highest

absl::Status ValidateBuckets(const FieldPath& at, const v1::Histogram& histogram) {
  if (histogram.bucket_size() != histogram.count_size()) {
    return at.Refuse("count", histogram.count_size(),
                     absl::StrCat("must be as many as bucket, ", histogram.bucket_size()));
  }
  uint64_t exits = 0;
  for (int i = 0; i < histogram.bucket_size(); ++i) {
    const uint32_t bucket = histogram.bucket(i);
    TELLTALE_RETURN_IF_ERROR(
        at.AtMost("bucket", bucket, 64 * histogram.r() - 1, "parts of 64 octaves"));
    if (i > 0 && bucket <= histogram.bucket(i - 1)) {
      return at.Refuse("bucket", bucket, "must be above the one before");
    }
    if (histogram.count(i) == 0) return at.Refuse("count", 0, "must be at least 1");
    TELLTALE_RETURN_IF_ERROR(at.AtMost("count", histogram.count(i), kMaxTotal, "limit"));
    exits += histogram.count(i);
    TELLTALE_RETURN_IF_ERROR(at.AtMost("sum of count", exits, kMaxTotal, "limit"));
  }
  if (exits != histogram.exits()) {
    return at.Refuse("exits", histogram.exits(), absl::StrCat("must be the sum of count, ", exits));
  }
  return absl::OkStatus();
}

absl::Status ValidateRow(const FieldPath& at, const v1::ProcessRow& row, int columns,
                         const BodyContext& context) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("exe", row.exe(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("comm", row.comm(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("cgroup", row.cgroup(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("throttled_cgroup", row.throttled_cgroup(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("throttled_periods", row.throttled_periods(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("throttled_ns", row.throttled_ns(), kMaxTotal, "limit"));
  if (row.values_size() != columns) {
    return at.Refuse("values", row.values_size(),
                     absl::StrCat("must be as many as columns, ", columns));
  }
  for (const uint64_t value : row.values()) {
    TELLTALE_RETURN_IF_ERROR(at.AtMost("values", value, kMaxTotal, "limit"));
  }
  return absl::OkStatus();
}

// Readers add rows and `other` up column by column.
absl::Status ValidateSums(const FieldPath& at, const v1::ProcessTable& table) {
  for (int column = 0; column < table.columns_size(); ++column) {
    uint64_t sum = table.has_other() ? table.other().values(column) : 0;
    for (const v1::ProcessRow& row : table.rows()) {
      sum += row.values(column);  // each at most 2^58, checked after each
      if (sum > kMaxTotal) {
        return FieldPath(at, "columns", column)
            .Refuse("sum", sum, absl::StrCat("limit ", kMaxTotal));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateHistogram(const FieldPath& at, const v1::Histogram& histogram,
                               const BodyContext& context) {
  if (histogram.layer() <= 0) return at.RefuseSigned("layer", histogram.layer(), "must be stated");
  TELLTALE_RETURN_IF_ERROR(at.Text("operation", histogram.operation(), kOperationBytes));
  if (histogram.subject_kind() < 0) {
    return at.RefuseSigned("subject_kind", histogram.subject_kind(), "must not be negative");
  }
  TELLTALE_RETURN_IF_ERROR(at.AtMost("subject", histogram.subject(), context.strings, "strings"));
  if (histogram.r() != 1 && histogram.r() != 2 && histogram.r() != 4) {
    return at.Refuse("r", histogram.r(), "must be 1, 2 or 4");
  }
  if (histogram.unit() <= 0) return at.RefuseSigned("unit", histogram.unit(), "must be stated");
  TELLTALE_RETURN_IF_ERROR(at.AtMost("sum", histogram.sum(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("entries", histogram.entries(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("share_ppm", histogram.share_ppm(), kAlwaysPpm, "always on"));
  return ValidateBuckets(at, histogram);
}

absl::Status ValidateProcesses(const FieldPath& at, const v1::ProcessTable& table,
                               const BodyContext& context) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("columns", table.columns_size(), kMaxProcessColumns, "limit"));
  std::bitset<kColumnNumbers> columns;
  for (const uint32_t column : table.columns()) {
    TELLTALE_RETURN_IF_ERROR(at.AtMost("columns", column, kColumnNumbers - 1, "highest number"));
    if (column == 0) return at.Refuse("columns", 0, "must be stated");
    if (columns.test(column)) return at.Refuse("columns", column, "stands there twice");
    columns.set(column);
  }
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("estimated", table.estimated_size(), table.columns_size(), "columns"));
  for (const uint32_t column : table.estimated()) {
    if (column >= kColumnNumbers || !columns.test(column)) {
      return at.Refuse("estimated", column, "must be one of the columns");
    }
  }
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("rows", table.rows_size(), context.limits.process_rows, "limit"));
  for (int i = 0; i < table.rows_size(); ++i) {
    const FieldPath here(at, "rows", i);
    TELLTALE_RETURN_IF_ERROR(ValidateRow(here, table.rows(i), table.columns_size(), context));
    if (table.rows(i).instances() == 0) return here.Refuse("instances", 0, "must be at least 1");
  }
  if (table.has_other()) {
    TELLTALE_RETURN_IF_ERROR(
        ValidateRow(FieldPath(at, "other"), table.other(), table.columns_size(), context));
  }
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("other_processes", table.other_processes(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("whole_from_run_ns", table.whole_from_run_ns(), kMaxTotal, "limit"));
  return ValidateSums(at, table);
}

}  // namespace telltale::proto
