// What may be asked of a running collector on its own machine, by whoever may write to its data
// directory: at present, to back it up. A unix socket `control` in that directory, for its owner
// and root alone; a line each way: "backup DIR", then "progress DONE TOTAL" lines, then "done FILES
// BYTES LINKED" or "error CODE MESSAGE". One asker at a time; whoever hangs up, or only shuts down
// its own side, stops what it asked for and leaves no backup. Owned by the collector, with a thread
// of its own.

#ifndef TELLTALE_COLLECTOR_CONTROL_SOCKET_H_
#define TELLTALE_COLLECTOR_CONTROL_SOCKET_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/backup.h"

namespace telltale::collector {

class ControlSocket {
 public:
  using BackUp = std::function<absl::StatusOr<storage::CopyResult>(
      const std::string& to_data, const storage::CopyWatcher& watch)>;

  // The caller holds the data directory, so that a socket left there is nobody's.
  static absl::StatusOr<std::unique_ptr<ControlSocket>> Listen(const std::string& data,
                                                               BackUp back_up);
  ~ControlSocket();  // stops a backup under way
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

 private:
  ControlSocket(int fd, BackUp back_up);
  void Run();
  void Serve(int peer);

  const int fd_;
  const BackUp back_up_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// The other side. NotFound: no collector listens there. `to_data` is absolute: the collector writes
// it. `watch` is asked also while nothing comes. Cancelled: it wanted no more; the collector has
// ended what it was at, unless that takes it more than seconds.
absl::StatusOr<storage::CopyResult> AskForBackup(const std::string& data,
                                                 const std::string& to_data,
                                                 const storage::CopyWatcher& watch);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_CONTROL_SOCKET_H_
