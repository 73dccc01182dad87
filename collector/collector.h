// The collector as a whole: opens the store, starts ingest, the answers and the listeners in that
// order, and stops them in the reverse one. Made and called by the main thread only.

#ifndef TELLTALE_COLLECTOR_COLLECTOR_H_
#define TELLTALE_COLLECTOR_COLLECTOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/config.h"

namespace telltale::collector {

class Collector {
 public:
  // Everything is up when this returns. Errors are one line: step, object, value, limit, remedy.
  static absl::StatusOr<std::unique_ptr<Collector>> Start(const LoadedConfig& loaded);
  ~Collector();  // Stop()
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  uint16_t grpc_port() const;
  uint16_t https_port() const;

  // Takes over what can change while running; the rest of `config` is ignored.
  void Reload(const Config& config);

  // About every second: looks whether the revocation list changed or is outdated, and asks followed
  // nodes for their seconds.
  void Tick();

  // No new streams; what arrived is stored and answered; then everything ends. Twice is safe.
  void Stop();

 private:
  struct Parts;
  void ReadChangedLists();
  void TellIfOutdated();
  explicit Collector(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_COLLECTOR_H_
