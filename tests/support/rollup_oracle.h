// What every tier must hold, worked out from the bodies the plain way: every sum by a loop over all
// children, no code shared with the store but the definitions of label ids. Slow on purpose.

#ifndef TELLTALE_TESTS_SUPPORT_ROLLUP_ORACLE_H_
#define TELLTALE_TESTS_SUPPORT_ROLLUP_ORACLE_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "telltale/v1/store.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::testing {

struct OracleEpoch {
  uint64_t sequence = 0;
  v1::SummaryBody body;  // clock offset 0: its times are the collector's
};

struct OracleWindow {
  v1::RollupWindow window;
  std::map<uint32_t, v1::RollupVital> vitals;
};

// Children ascending by start.
OracleWindow RollUpEpochs(const std::vector<OracleEpoch>& epochs, const v1::Schema& schema);
OracleWindow RollUpWindows(const std::vector<OracleWindow>& windows, const v1::Schema& schema);
v1::SeriesBlock SeriesOf(uint64_t hour_start_ns, const std::vector<OracleEpoch>& epochs);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_ROLLUP_ORACLE_H_
