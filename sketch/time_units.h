// Times are nanoseconds in 64 bits wherever a name does not say otherwise.

#ifndef TELLTALE_SKETCH_TIME_UNITS_H_
#define TELLTALE_SKETCH_TIME_UNITS_H_

#include <cstdint>

namespace telltale {

inline constexpr uint64_t kNsPerUs = 1'000;
inline constexpr uint64_t kNsPerMs = 1'000'000;
inline constexpr uint64_t kNsPerS = 1'000'000'000;

}  // namespace telltale

#endif  // TELLTALE_SKETCH_TIME_UNITS_H_
