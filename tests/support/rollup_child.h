// One epoch or stored window without its tables, as the oracle merges them: texts and code places
// stand where the messages have indexes.

#ifndef TELLTALE_TESTS_SUPPORT_ROLLUP_CHILD_H_
#define TELLTALE_TESTS_SUPPORT_ROLLUP_CHILD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/rollup/portable.h"
#include "tests/support/rollup_bounds.h"
#include "tests/support/rollup_oracle.h"

namespace telltale::testing::oracle {

struct Exemplar {
  uint64_t digest = 0;
  v1::RollupExemplar message;  // its indexes are not used
  std::optional<storage::PortableStack> stack;
  std::string comm, cgroup;
  std::vector<storage::PortableValue> detail;
};
struct Label {
  storage::PortableLabel label;
  uint32_t sub = 0;
  uint64_t sub_samples = 0;
  std::optional<Exemplar> exemplar;
};
struct Groups {
  Listed list[3];
  std::map<uint64_t, std::string> text[3];
  bool estimated = false;
};
struct VitalChild {
  v1::VitalTotals totals;
  Listed labels;
  std::map<uint64_t, Label> facts;
  std::optional<Groups> groups;
};
struct Child {
  uint64_t start_ns = 0;
  v1::RollupWindow window;  // times, epochs, losses, histograms with text in `subjects`
  std::vector<std::string> subjects;
  std::map<uint32_t, VitalChild> vitals;
  std::optional<Groups> run_time;
};

Child ChildOf(const OracleEpoch& epoch, const v1::Schema& schema);
Child ChildOf(const OracleWindow& stored, const v1::Schema& schema);

}  // namespace telltale::testing::oracle

#endif  // TELLTALE_TESTS_SUPPORT_ROLLUP_CHILD_H_
