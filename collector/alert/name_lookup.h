// Addresses of a host by its name. The system's lookup cannot be ended and may take half a minute
// where no name server answers, so it runs in a thread of its own, which nobody waits for longer
// than he wants. Of each name and port one lookup runs at a time: who asks meanwhile waits for that
// one, so there are never more threads than names. A thread that is still asking when its owner
// goes keeps what it writes to.
//
// Blocks the calling thread; any thread, several at a time.

#ifndef TELLTALE_COLLECTOR_ALERT_NAME_LOOKUP_H_
#define TELLTALE_COLLECTOR_ALERT_NAME_LOOKUP_H_

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::alert {

class NameLookups {
 public:
  NameLookups();

  // An address in numbers is taken as it is. Errors: Unavailable (what the system says),
  // DeadlineExceeded, Cancelled (`stop` was set).
  absl::StatusOr<std::vector<boost::asio::ip::tcp::endpoint>> LookUp(
      const std::string& host, const std::string& port,
      std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& stop);

 private:
  struct Running;
  static void Run(const std::pair<std::string, std::string>& name, Running& running);
  const std::shared_ptr<Running> running_;
};

}  // namespace telltale::alert

#endif  // TELLTALE_COLLECTOR_ALERT_NAME_LOOKUP_H_
