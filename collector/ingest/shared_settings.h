// The settings of ingest that hold now, for all shards: those of the configuration, and the spread
// of sending as the fleet there is needs it. One for each IngestCore. Thread-safe.

#ifndef TELLTALE_COLLECTOR_INGEST_SHARED_SETTINGS_H_
#define TELLTALE_COLLECTOR_INGEST_SHARED_SETTINGS_H_

#include <cstddef>
#include <mutex>

#include "collector/ingest/ingest_options.h"
#include "collector/ingest/sending_spread.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::ingest {

class SharedSettings {
 public:
  explicit SharedSettings(const IngestSettings& settings) : settings_(settings) {}

  // `spread_s` is what the fleet needs, where that is less than what was set.
  IngestSettings Get() const;
  // The part of them that agents follow.
  v1::Settings ForAgents() const;

  void Set(const IngestSettings& settings);
  // Of so many nodes epochs are awaited. Whether Get gives something else now.
  bool SetNodes(size_t nodes);

 private:
  mutable std::mutex mutex_;
  IngestSettings settings_;  // guarded by mutex_
  SendingSpread spread_;     // guarded by mutex_
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_SHARED_SETTINGS_H_
