// Which vital and which of its sub-series a question means: "cpu", "blocking/disk", or all of them.
//
// Values; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_VITAL_CHOICE_H_
#define TELLTALE_COLLECTOR_QUERY_VITAL_CHOICE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::query {

struct VitalChoice {
  v1::VitalDescriptor vital;
  int sub = -1;       // index; -1: the vital's headline
  bool idle = false;  // headline counts idle waits in

  // Whether a sub-series counts towards this choice. A headline leaves out idle waits (unless asked
  // for) and the far end of what it already counts at the near end (done beside issued, free beside
  // alloc, delivered beside generated), so that a byte written is one byte.
  bool Counts(int index) const;
  // What these sub-series weigh in an epoch, stored unit.
  uint64_t WeightOf(const v1::Vital& of) const;
  std::string SubName() const;               // empty for a headline
  std::vector<std::string> LeftOut() const;  // names of the sub-series a headline leaves out
};

// Descriptors of every vital the selected nodes send and of the built-in ones, by id.
class VitalBook {
 public:
  VitalBook(const Selection& selection, const Context& context);

  // "" : all vitals, one headline each, ascending by id. NotFound names the nearest.
  absl::StatusOr<std::vector<VitalChoice>> Choose(const std::string& text, bool idle) const;
  const v1::VitalDescriptor* Find(uint32_t id) const;
  const std::map<uint32_t, v1::VitalDescriptor>& all() const { return vitals_; }

 private:
  std::map<uint32_t, v1::VitalDescriptor> vitals_;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_VITAL_CHOICE_H_
