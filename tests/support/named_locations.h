// What a node says of code locations: names of offsets in one build, and the tables of a window
// that refers to them.
#ifndef TELLTALE_TESTS_SUPPORT_NAMED_LOCATIONS_H_
#define TELLTALE_TESTS_SUPPORT_NAMED_LOCATIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "telltale/v1/summary.pb.h"

namespace telltale::testing {

inline constexpr char kNamedBuild[] = "build";

inline v1::Names Named(const std::vector<std::pair<uint64_t, std::string>>& names) {
  v1::Names message;
  message.set_build_id(kNamedBuild);
  for (const auto& [offset, name] : names) {
    message.add_offset(offset);
    message.add_name(name);
  }
  return message;
}

inline v1::Tables TablesOf(const std::vector<uint64_t>& offsets,
                           const std::string& build_id = kNamedBuild) {
  v1::Tables tables;
  tables.add_mappings()->set_build_id(build_id);
  for (uint64_t offset : offsets) {
    tables.add_frame_mapping(1);
    tables.add_frame_offset(offset);
  }
  return tables;
}

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_NAMED_LOCATIONS_H_
