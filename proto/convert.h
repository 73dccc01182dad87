// From stored units to the base units of answers, and to words for people. Free functions: any
// thread.

#ifndef TELLTALE_PROTO_CONVERT_H_
#define TELLTALE_PROTO_CONVERT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <cstdint>
#include <string>

#include "telltale/v1/summary.pb.h"

namespace telltale::proto {

// What answers count in: base = stored * factor. An unknown unit counts in itself, named "units".
struct BaseUnit {
  const char* name;  // "s", "bytes", "pages", "calls", "signals", "misses", "segments"
  double factor;
};
BaseUnit BaseUnitOf(v1::Unit unit);

// A stored weight as people read it: "1.25 s", "340 us", "4.0 KiB", "12,345 pages".
std::string ShowWeight(v1::Unit unit, uint64_t weight);
std::string ShowNumber(uint64_t number);  // 12,345
std::string ShowDuration(uint64_t ns);    // three significant digits
std::string ShowBytes(uint64_t bytes);    // binary multiples
std::string ShowTime(uint64_t unix_ns);   // RFC 3339 in UTC with ms
std::string ShowHex(const std::string& bytes);

// The number of an enum value as a lower-case word without the enum's own name:
// LOSS_REASON_RING_FULL is "ring_full"; one this build does not know is its number.
std::string EnumWord(const google::protobuf::EnumDescriptor& type, int number);
template <typename Enum>
std::string EnumWord(Enum value) {
  return EnumWord(*google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_CONVERT_H_
