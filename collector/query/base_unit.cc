#include "collector/query/base_unit.h"

#include "proto/convert.h"

namespace telltale::query {

double BaseFactor(v1::Unit unit) { return proto::BaseUnitOf(unit).factor; }

std::string_view BaseUnitName(v1::Unit unit) { return proto::BaseUnitOf(unit).name; }

}  // namespace telltale::query
