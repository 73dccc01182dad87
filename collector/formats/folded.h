// Stacks on one line each, as flame graph programs read them: "exe;root;...;leaf weight". Weights
// are whole numbers: ns for times, else the unit. In names ';' becomes ':', what is not printable
// is escaped; kernel frames end in "_[k]".
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_FOLDED_H_
#define TELLTALE_COLLECTOR_FORMATS_FOLDED_H_

#include <string>
#include <string_view>

#include "telltale/v1/query.pb.h"

namespace telltale::formats {

using FrameIterator = google::protobuf::RepeatedPtrField<v1::Frame>::const_iterator;

// Frames leaf first; `exe` empty: no executable before them.
std::string FoldedPath(std::string_view exe, FrameIterator leaf, FrameIterator end);

std::string FoldedOf(const v1::StacksAnswer& answer);

// What ends in each node of the tree. Compared with another selection: two weights, of `against`
// and of the selection, for a differential flame graph (red where it became more).
std::string FoldedOf(const v1::FlameAnswer& answer);

// A weight as the whole number formats want: nanoseconds of seconds.
double WholeUnits(double value, std::string_view unit);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_FOLDED_H_
