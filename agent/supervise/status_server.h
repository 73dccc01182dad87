// Answers `telltale-agent status` on a unix socket: whoever connects is sent one JSON text, then
// the connection ends. Driven by the owner's poll(2) loop; one thread.

#ifndef TELLTALE_AGENT_SUPERVISE_STATUS_SERVER_H_
#define TELLTALE_AGENT_SUPERVISE_STATUS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/supervise/link.h"

namespace telltale::agent {

class StatusServer {
 public:
  // Replaces a socket nobody listens on. AlreadyExists: another agent does.
  static absl::StatusOr<std::unique_ptr<StatusServer>> Listen(const std::string& path,
                                                              std::function<std::string()> answer);
  ~StatusServer();

  int fd() const { return fd_.get(); }
  void Serve();  // everyone who waits

 private:
  StatusServer(std::string path, OwnedFd fd, std::function<std::string()> answer)
      : path_(std::move(path)), fd_(std::move(fd)), answer_(std::move(answer)) {}

  const std::string path_;
  OwnedFd fd_;
  std::function<std::string()> answer_;
};

// The other side: connects and reads it all, at most 1 MiB, within 5 s.
absl::StatusOr<std::string> AskStatus(const std::string& path);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_STATUS_SERVER_H_
