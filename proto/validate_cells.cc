#include "absl/strings/str_cat.h"
#include "proto/validate.h"

namespace telltale::proto {
namespace {

constexpr size_t kMaxCells = 4 * 4096;  // rows x columns

}  // namespace

absl::Status ValidateCells(const v1::SketchCells& cells) {
  const FieldPath root("cells");
  uint32_t previous = 0;
  for (int i = 0; i < cells.vitals_size(); ++i) {
    const FieldPath at(root, "vitals", i);
    const v1::SketchCells::One& one = cells.vitals(i);
    TELLTALE_RETURN_IF_ERROR(at.AtMost("vital", one.vital(), kMaxVital, "highest id"));
    if (one.vital() <= previous) {
      return at.Refuse("vital", one.vital(),
                       absl::StrCat("must be above the one before, ", previous));
    }
    previous = one.vital();
    TELLTALE_RETURN_IF_ERROR(at.AtMost("cells", one.cells_size(), kMaxCells, "limit"));
    if (!one.bitmap().empty() && one.bitmap().size() != kBitmapBytes) {
      return at.Refuse("bitmap length", one.bitmap().size(), "must be 0 or 512 bytes");
    }
    uint64_t sum = 0;
    for (const uint64_t cell : one.cells()) {
      TELLTALE_RETURN_IF_ERROR(at.AtMost("cells", cell, kMaxTotal, "limit"));
      sum += cell;  // both at most 2^60
      TELLTALE_RETURN_IF_ERROR(at.AtMost("sum of cells", sum, 4 * kMaxTotal, "limit"));
    }
  }
  return absl::OkStatus();
}

}  // namespace telltale::proto
