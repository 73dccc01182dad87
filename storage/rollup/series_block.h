// The series block of one node and hour: totals of every epoch in columns, from the summaries
// themselves. Pure.

#ifndef TELLTALE_STORAGE_ROLLUP_SERIES_BLOCK_H_
#define TELLTALE_STORAGE_ROLLUP_SERIES_BLOCK_H_

#include <cstdint>
#include <vector>

#include "proto/open_body.h"
#include "storage/placement.h"
#include "telltale/v1/store.pb.h"

namespace telltale::storage {

struct SeriesEpoch {
  EpochSpan span;
  proto::OpenBody body;
};

// Epochs ascending by start; each belongs to the hour that begins at `hour_start_ns`.
v1::SeriesBlock MakeSeriesBlock(uint64_t hour_start_ns, const std::vector<SeriesEpoch>& epochs);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROLLUP_SERIES_BLOCK_H_
