#include "storage/history.h"

namespace telltale::storage {

std::string_view FamilyName(Family family) {
  switch (family) {
    case Family::kRaw:
      return "raw";
    case Family::kCells:
      return "cells";
    case Family::kSeries:
      return "series";
    case Family::kLine:
      return "line";
    case Family::kRollup:
      return "rollup";
    case Family::kDerived:
      return "derived";
    case Family::kDict:
      return "dict";
  }
  return "unknown";
}

}  // namespace telltale::storage
