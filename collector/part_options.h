// What store, ingest and the listeners are given of the collector's configuration. Pure.

#ifndef TELLTALE_COLLECTOR_PART_OPTIONS_H_
#define TELLTALE_COLLECTOR_PART_OPTIONS_H_

#include "collector/config.h"
#include "collector/ingest/ingest_core.h"
#include "collector/tls.h"
#include "storage/store.h"

namespace telltale::collector {

storage::StoreOptions StoreOptionsOf(const Config& config);
ingest::IngestOptions IngestOptionsOf(const Config& config);
// What may change while running.
ingest::IngestSettings IngestSettingsOf(const Config& config);
TlsFiles TlsFilesOf(const Config& config);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_PART_OPTIONS_H_
