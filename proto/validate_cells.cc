#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "proto/validate.h"

namespace telltale::proto {
namespace {

constexpr size_t kMaxCells = 4 * 4096;  // rows x columns
constexpr size_t kBitmapBytes[] = {0, 512, 1024};

// None (plain cells), or one for each cell and within it.
absl::Status ValidateVotes(const FieldPath& at, const char* name, const v1::SketchCells::One& one,
                           const google::protobuf::RepeatedField<uint64_t>& votes) {
  if (!votes.empty() && votes.size() != one.cells_size()) {
    return at.Refuse(name, votes.size(),
                     absl::StrCat("must be 0 or as many as cells, ", one.cells_size()));
  }
  for (int i = 0; i < votes.size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(at.AtMost(name, votes.at(i), one.cells(i), "total of the cell"));
  }
  return absl::OkStatus();
}

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
    if (std::ranges::find(kBitmapBytes, one.bitmap().size()) == std::end(kBitmapBytes)) {
      return at.Refuse("bitmap length", one.bitmap().size(), "must be 0, 512 or 1024 bytes");
    }
    uint64_t sum = 0;
    for (const uint64_t cell : one.cells()) {
      TELLTALE_RETURN_IF_ERROR(at.AtMost("cells", cell, kMaxTotal, "limit"));
      sum += cell;  // both at most 2^60
      TELLTALE_RETURN_IF_ERROR(at.AtMost("sum of cells", sum, 4 * kMaxTotal, "limit"));
    }
    TELLTALE_RETURN_IF_ERROR(ValidateVotes(at, "contested", one, one.contested()));
    TELLTALE_RETURN_IF_ERROR(ValidateVotes(at, "greatest_margin", one, one.greatest_margin()));
  }
  return absl::OkStatus();
}

}  // namespace telltale::proto
