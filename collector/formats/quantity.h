// Numbers with their units, as people read them: three digits that mean something, never in
// exponent form; "?" for what is no number.
//
// Pure functions; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_QUANTITY_H_
#define TELLTALE_COLLECTOR_FORMATS_QUANTITY_H_

#include <string>
#include <string_view>

namespace telltale::formats {

// A number of a base unit ("s", "bytes", "pages", "calls" ...) in three digits: "12.3 ms", "4.00
// MiB", "1,240 pages".
std::string Quantity(double value, std::string_view unit);
// The same per second: "1.35 s/s", "12.0 MiB/s", "83 calls/s".
std::string Rate(double value, std::string_view unit);
// The same of a vital ("cpu", "blocking/disk"): seconds per second are how many at once, "1.50
// CPUs" that were busy or "8.00 waiting".
std::string Rate(double value, std::string_view unit, std::string_view vital);
// A plain count: "1,240", "2.31 M".
std::string Count(double value);
// "3.4 %"; "<0.1 %" for what is there but small.
std::string Share(double share);
// "unit", "units": count with its noun, "1 node", "2 nodes".
std::string Plural(double count, std::string_view noun);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_QUANTITY_H_
