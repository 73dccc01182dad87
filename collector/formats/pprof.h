// Stacks as a profile that `pprof` reads: gzipped profile.proto. Sample types are the number of
// samples, the likely weight, and the two figures it lies between (`-sample_index=cpu_low`); the
// executable is the label "exe". What the profile rests on stands in its comments.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_PPROF_H_
#define TELLTALE_COLLECTOR_FORMATS_PPROF_H_

#include <string>

#include "absl/status/statusor.h"
#include "telltale/v1/query.pb.h"

namespace telltale::formats {

absl::StatusOr<std::string> PprofOf(const v1::StacksAnswer& answer);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_PPROF_H_
