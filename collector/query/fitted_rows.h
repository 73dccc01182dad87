// Rows known by samples, made to fit what is known exactly: no row weighs more than its executable
// does by the process accounts, and all together no more than the vital. The same for raw epochs
// and windows.
//
// Values and free functions; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_FITTED_ROWS_H_
#define TELLTALE_COLLECTOR_QUERY_FITTED_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/query/window_sums.h"

namespace telltale::query {

// What each executable weighs at most, from accounts by executable.
class ExeLimits {
 public:
  ExeLimits() = default;  // nothing is known
  explicit ExeLimits(GroupSum& accounts);

  // In the stored unit; infinity where the accounts do not name it. Tasks without an executable
  // ("[kworker/0:1]") share their labels, so they share one limit.
  double Most(const std::string& exe) const;
  bool other_measure() const { return other_measure_; }

 private:
  std::map<uint64_t, double> most_;  // by digest of the name
  double without_exe_ = 0;
  bool known_ = false, other_measure_ = false;
};

// Between low and high, likely value; stored unit.
struct RowWeight {
  std::string exe;
  double low = 0, value = 0, high = 0;
};

// Lowers each high to what the executable's account (Most) and the total leave beside what is
// proven for the other rows, but not below what samples prove for it; then lowers the values
// towards low, all of an executable alike and then all rows alike, until neither an executable's
// nor all of them add up to more than there is. low <= value <= high holds afterwards.
void FitRows(double total, const ExeLimits& limits, std::vector<RowWeight>& rows);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_FITTED_ROWS_H_
