// Tells Alertmanagers of open incidents: all of them at each change and again every `repeat`, which
// must be less than Alertmanager's resolve_timeout; those that are over with their end, for a
// quarter of an hour. Nothing is kept of what was told: an Alertmanager or a collector that
// restarts is told the same again. Each Alertmanager has a thread of its own, so that one that
// hangs delays no other.
//
// Owned by the collector; Start and Stop by it, the rest from any thread.

#ifndef TELLTALE_COLLECTOR_ALERT_ALERTMANAGER_H_
#define TELLTALE_COLLECTOR_ALERT_ALERTMANAGER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collector/alert/alerts.h"
#include "collector/alert/http_post.h"
#include "collector/alert/name_lookup.h"
#include "collector/alert/web_address.h"
#include "collector/feed/waiters.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::alert {

struct AlertmanagerOptions {
  std::vector<WebAddress> targets;
  ClientTls tls;
  AlertWords words;
  std::chrono::milliseconds repeat{60'000};
  std::chrono::milliseconds timeout{10'000};     // of one post
  std::chrono::milliseconds gather{1'000};       // after a change, before it is told
  std::chrono::milliseconds first_retry{5'000};  // doubled after each failure, up to `repeat`
  // What is to be told: incidents that are not resolved, and those resolved since.
  std::function<std::vector<v1::Incident>(uint64_t since_ns)> incidents;
  std::function<absl::StatusOr<std::unique_ptr<feed::Waiter>>(std::function<void()>)> wait;
  std::function<uint64_t()> now_ns;
  std::function<void(const std::string&)> log_line;  // a problem that begins or ends; may be empty
};

class Alertmanager {
 public:
  explicit Alertmanager(AlertmanagerOptions options);
  ~Alertmanager();  // Stop()
  Alertmanager(const Alertmanager&) = delete;
  Alertmanager& operator=(const Alertmanager&) = delete;

  void Start();
  void Stop();  // twice is safe

  std::vector<v1::AlertTarget> State() const;

 private:
  struct Target;
  void Run(Target& target);
  absl::Status PostAll(const Target& target);
  void Note(Target& target, const absl::Status& status);

  const AlertmanagerOptions options_;
  std::atomic<bool> stop_{false};
  NameLookups names_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  uint64_t changes_ = 0;  // guarded by mutex_
  std::vector<std::unique_ptr<Target>> targets_;
  std::unique_ptr<feed::Waiter> waiter_;  // keep last: it calls into the rest
};

}  // namespace telltale::alert

#endif  // TELLTALE_COLLECTOR_ALERT_ALERTMANAGER_H_
