// Has the node's certificate replaced before it ends: when a third of its time is left, with a new
// key, over the certificate there is. The connection that summaries go over is left alone: the new
// certificate holds from the next one on, so no epoch waits for it.
//
// Owned by the uplink process. Start and Stop from its main thread; it works in a thread of its
// own.

#ifndef TELLTALE_AGENT_ENROLL_RENEWER_H_
#define TELLTALE_AGENT_ENROLL_RENEWER_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "agent/enroll/enroll_client.h"
#include "agent/uplink/tls.h"

namespace telltale::agent {

// When to renew a certificate valid from `begin_s` to `end_s`: a third before the end, up to a
// tenth of the whole earlier by `share` of 0 to 1, so that nodes that enrolled together do not
// renew together. Unix seconds.
int64_t RenewAt(int64_t begin_s, int64_t end_s, double share);

class Renewer {
 public:
  struct Options {
    EnrollServer collector;  // the port with certificates
    TlsFiles files;
    std::string node;  // whose certificate it must be
  };
  explicit Renewer(Options options) : options_(std::move(options)) {}
  ~Renewer() { Stop(); }
  Renewer(const Renewer&) = delete;
  Renewer& operator=(const Renewer&) = delete;

  void Start();
  // Waits for a call under way, which ends within kEnrollCallS. Idempotent.
  void Stop();

 private:
  void Run();
  // False: it is to stop.
  bool Sleep(int64_t seconds);
  // Seconds until there is something to do.
  int64_t Step();
  absl::Status Renew(const TlsTexts& own) const;

  const Options options_;
  double share_ = 0;
  int64_t pause_s_ = 0;  // after a failure; 0: the last one succeeded
  std::string told_;     // the last failure in the log
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_ENROLL_RENEWER_H_
