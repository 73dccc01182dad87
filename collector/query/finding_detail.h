// Who was behind an unusual while and where in the code: the while against a usual time, and one
// event kept whole.
//
// Belongs to one answer and its thread; the engine outlives it.

#ifndef TELLTALE_COLLECTOR_QUERY_FINDING_DETAIL_H_
#define TELLTALE_COLLECTOR_QUERY_FINDING_DETAIL_H_

#include "absl/status/statusor.h"
#include "collector/query/engine.h"
#include "collector/query/past_times.h"

namespace telltale::query {

class FindingDetail {
 public:
  FindingDetail(const Engine& engine, const Context& context, bool hide_self, TimeSpan against)
      : engine_(engine), context_(context), hide_self_(hide_self), against_(against) {}

  // Fills processes, sites and example. False: with hide_self, when most of the difference is
  // Telltale's own.
  absl::StatusOr<bool> Add(v1::Finding& finding) const;

 private:
  absl::StatusOr<v1::DiffTable> Compared(const v1::Finding& finding, v1::Dimension by) const;
  absl::Status AddExample(v1::Finding& finding) const;

  const Engine& engine_;
  const Context& context_;
  const bool hide_self_;
  const TimeSpan against_;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_FINDING_DETAIL_H_
