// The one table of vital signs: what each is called, its unit, its sub-series, and which fields its
// label and its kept details have (Chopstix figure 2, design of the label; ids in vital_ids.h).
//
// Constant data, readable from any thread. A new vital is one row here plus one BPF function; a
// site's own need not be here at all (agent/sensor/NEW_VITAL.md).

#ifndef TELLTALE_SKETCH_VITALS_H_
#define TELLTALE_SKETCH_VITALS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "sketch/vital_ids.h"

namespace telltale::sketch {

// Unit of a vital's weight as stored. Numbers equal telltale.v1.Unit.
enum class Unit : uint8_t {
  kNanoseconds = 1,
  kBytes = 2,
  kPages = 3,
  kCalls = 4,
  kSignals = 5,
  kMisses = 6,
  kSegments = 7,
};

// How to read one uint64 of a label or detail. Numbers equal telltale.v1.FieldKind: frozen.
enum class FieldKind : uint8_t {
  kNumber = 1,        // plain, unsigned
  kSigned = 2,        // two's complement in 64 bits in memory, zigzag on the wire
  kIp = 3,            // user or kernel code address; on the wire a frame index + 1
  kStackPointer = 4,  // depth of the stack >> 8
  kPid = 5,
  kSyscall = 6,  // syscall number of the node's architecture
  kDevice = 7,   // kernel dev_t
  kGfp = 8,      // page allocator flags
  kSignal = 9,   // signal number
  kPort = 10,
  kProtocol = 11,  // IPPROTO_*; 256 + n: AF_UNIX and other families by number n
  kBytes = 12,
  kNanoseconds = 13,
  kErrno = 14,    // positive errno, 0 for none
  kHex = 15,      // opaque; shown in hexadecimal
  kEnum = 16,     // index into the field's value names
  kString = 17,   // on the wire a string index + 1
  kAddress = 18,  // an endpoint's IP address: in memory a kernel-side slot, on the wire a string
  kSector = 19,
  kOrder = 20,     // page order
  kPriority = 21,  // kernel prio 0..139
};

struct Field {
  std::string_view name;
  FieldKind kind;
  std::span<const std::string_view> values = {};  // for kEnum
};

struct Sub {
  std::string_view name;
  bool idle = false;  // waiting by choice (poll, timer): counted and shown, not in headlines
};

struct Vital {
  uint8_t id;
  std::string_view name;
  Unit unit;
  uint64_t quantum;  // below it nothing is sampled (design section 4); in the vital's unit
  std::span<const Sub> subs;
  std::span<const Field> label;   // besides exe and uid, which every label begins with
  std::span<const Field> detail;  // besides the common part of every sample
  bool has_backlog = false;
  std::string_view about;  // one sentence for people
};

// All built-in vitals in id order.
std::span<const Vital> Vitals();

// The vital with this id or name; nullptr if there is none.
const Vital* FindVital(uint8_t id);
const Vital* FindVital(std::string_view name);

std::string_view UnitName(Unit unit);  // "ns", "bytes", "pages", ...

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_VITALS_H_
