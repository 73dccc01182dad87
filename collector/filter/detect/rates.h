// What the detectors read of an epoch: rates of sub-series, and figures of processes, in base units
// per second of watched time. Pure.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_RATES_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_RATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

// Beginnings, ends and crashes are not usual times; neither is an epoch half of which nobody
// watched.
bool IsUsual(const telltale_filter_epoch& epoch);

struct Rate {
  const telltale_filter_vital* vital;
  const telltale_filter_sub* sub;
  uint16_t key;  // vital's id << 8 | sub-series
  double per_second;
};
// Of the sub-series that are not idle, where their vital was watched for half of the epoch.
std::vector<Rate> RatesOf(const telltale_filter_epoch& epoch);

// Of each sub-series, by index, the weight of the whole that its labels are a share of: of all that
// are not idle; where a vital tells of an event twice, as it begins and when it is over, of those
// that tell of it at the same time. 0 of one that is idle.
std::vector<double> WholesOf(const telltale_filter_vital& vital);
// What a label has of its whole at least; 0 of waiting by choice.
double ShareOf(const telltale_filter_label& label, const std::vector<double>& wholes);

// The deviation below which nobody cares, in base units per second: hundredths of a CPU, quarter
// megabytes ...
double FloorOf(std::string_view unit);

// "1.23 s/s", "340 ms/s", "45.6 MB/s", "1234 calls/s": a rate in base units as people read it.
std::string RateText(double rate, std::string_view unit);
std::string BytesText(double bytes);
std::string PercentText(double share);
// "1.5e-07"
std::string PText(double p);

// Place of a column in the epoch's process table.
std::optional<uint32_t> ColumnOf(const telltale_filter_epoch& epoch, uint32_t column);

// "postgres (pid 812, user pg)", "(pid 812, uid 26)" where the user has no name: who a row is
// about.
std::string ProcessText(const telltale_filter_process& process);
// "user pg", or "uid 26" where the node has no name for it.
std::string UserText(const char* user, uint32_t uid);
// Its executable; of the kernel's "[name]".
std::string ProgramOf(const telltale_filter_process& process);
// The last part of a path.
std::string BaseOf(std::string_view path);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_RATES_H_
