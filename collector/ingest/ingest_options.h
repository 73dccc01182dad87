// Limits and settings of ingest. Values; the part that may change while running is kept in
// SharedSettings (shared_settings.h).

#ifndef TELLTALE_COLLECTOR_INGEST_INGEST_OPTIONS_H_
#define TELLTALE_COLLECTOR_INGEST_INGEST_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace telltale::ingest {

// May change while running.
struct IngestSettings {
  // At most; a fleet that needs less is told less (sending_spread.h). Agents leave a twelfth of an
  // epoch free.
  uint32_t spread_s = 55;
  uint32_t max_in_flight = 16;
  uint32_t max_in_flight_bytes = 1 << 20;
  uint32_t max_summary_bytes = 256 << 10;  // compressed body, and cells
  uint32_t backlog_per_s = 10;
  uint64_t node_bytes_per_day = 256ull << 20;  // of summaries (byte_budget.h)
  uint64_t max_future_ns = 300'000'000'000;
};

struct IngestOptions {
  size_t shards = 2;
  size_t queue_bytes = 64 << 20;  // waiting in one shard; beyond it its streams are not read
  size_t batch_items = 512;       // written together at most
  size_t batch_bytes = 16 << 20;
  uint64_t hello_timeout_ns = 15'000'000'000;
  // How long two open streams of one node are given until that proves a clone: longer than it takes
  // keepalive to notice a dead connection.
  uint64_t contest_ns = 25'000'000'000;
  // What the old stream says within this after the new one began may have been on its way.
  uint64_t contest_margin_ns = 5'000'000'000;
  uint32_t retry_after_ms = 5000;   // after a failed write
  size_t max_streams_per_node = 4;  // that said Hello
  // With those that did not yet, which are not read from beyond it. An agent has one, and for as
  // long as keepalive takes to notice it those whose connections died.
  size_t max_open_streams_per_node = 16;
  std::string version;  // of the collector, for Welcome
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_INGEST_OPTIONS_H_
