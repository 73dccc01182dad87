// The figures that come from the store: nodes and their cumulative counters, sizes, vitals that
// only nodes know.
//
// Thread-safe: reads a storage::Reader, which outlives what is made here.

#ifndef TELLTALE_COLLECTOR_METRICS_STORE_FIGURES_H_
#define TELLTALE_COLLECTOR_METRICS_STORE_FIGURES_H_

#include "collector/metrics/figures.h"
#include "storage/reader.h"

namespace telltale::metrics {

// Sets for_each_node, local_vitals and store.
void UseStore(const storage::Reader* reader, MetricSources& sources);

}  // namespace telltale::metrics

#endif  // TELLTALE_COLLECTOR_METRICS_STORE_FIGURES_H_
