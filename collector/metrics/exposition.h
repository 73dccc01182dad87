// Writes the Prometheus text format (version 0.0.4): families, samples, exact decimals, escaped
// label values.
//
// Appends to a string of the caller; no state but that. Label values are valid UTF-8 (they come
// from protobuf strings and from our own names).

#ifndef TELLTALE_COLLECTOR_METRICS_EXPOSITION_H_
#define TELLTALE_COLLECTOR_METRICS_EXPOSITION_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "collector/metrics/metric_table.h"

namespace telltale::metrics {

// Sums over a fleet pass 64 bits: 640,000 CPUs fill 2^64 ns in eight hours.
__extension__ using Wide = unsigned __int128;

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// "# HELP" and "# TYPE".
void WriteFamily(const MetricRow& row, std::string& out);

// One line; `suffix` as in "_bucket". `value` is already a number's text.
void WriteSample(const MetricRow& row, std::string_view suffix, const Labels& labels,
                 std::string_view value, std::string& out);

inline void WriteSample(const MetricRow& row, const Labels& labels, std::string_view value,
                        std::string& out) {
  WriteSample(row, "", labels, value, out);
}

std::string Integer(Wide value);

// value / 10^decimals, exact: Scaled(1'500'000'000, 9) is "1.5".
std::string Scaled(Wide value, int decimals);

// Shortest text that reads back as the same double; +Inf, -Inf, NaN as Prometheus spells them.
std::string Real(double value);

}  // namespace telltale::metrics

#endif  // TELLTALE_COLLECTOR_METRICS_EXPOSITION_H_
