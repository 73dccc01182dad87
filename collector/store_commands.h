// `telltale-collector backup DIR | restore DIR | verify | salvage`: what is done to a store as a
// whole, on the machine that has it. Each prints what it found and returns an exit code: 0 good, 1
// not. Main thread.

#ifndef TELLTALE_COLLECTOR_STORE_COMMANDS_H_
#define TELLTALE_COLLECTOR_STORE_COMMANDS_H_

#include <string>

#include "collector/config.h"

namespace telltale::collector {

// By the running collector, if one runs on config.data, else here.
int RunBackup(const Config& config, const std::string& to_data);
// Into config.data, which must not have a store.
int RunRestore(const Config& config, const std::string& from_data);
// Of a running collector, by a copy of its store. Before any thread is made.
int RunVerify(const Config& config);
// Takes damaged files out of config.data's store, on which no collector may run.
int RunSalvage(const Config& config);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_STORE_COMMANDS_H_
