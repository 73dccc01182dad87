// One value of a label or detail as text for people: "read", "SIGKILL", "8:0", "4,096 bytes" ...
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_FIELD_TEXT_H_
#define TELLTALE_COLLECTOR_QUERY_FIELD_TEXT_H_

#include <cstdint>
#include <string>

#include "collector/query/stack_names.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::query {

// `machine`: of the node, names system calls. Empty for values that mean "none" (no frame, no
// string, no call).
std::string FieldText(const v1::FieldDescriptor& field, uint64_t value, const StackNames& names,
                      const std::string& machine);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_FIELD_TEXT_H_
