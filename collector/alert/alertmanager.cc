#include "collector/alert/alertmanager.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"

namespace telltale::alert {
namespace {

constexpr uint64_t kToldResolvedNs = 900'000'000'000;
constexpr size_t kBatch = 256;

}  // namespace

struct Alertmanager::Target {
  WebAddress to;
  v1::AlertTarget state;  // guarded by mutex_
  std::thread thread;
};

Alertmanager::Alertmanager(AlertmanagerOptions options) : options_(std::move(options)) {
  for (const WebAddress& to : options_.targets) {
    auto& target = targets_.emplace_back(std::make_unique<Target>());
    target->to = to;
    target->state.set_url(to.text);
  }
}

Alertmanager::~Alertmanager() { Stop(); }

void Alertmanager::Start() {
  if (targets_.empty()) return;
  auto waiter = options_.wait([this] {
    {
      const std::lock_guard lock(mutex_);
      ++changes_;
    }
    wake_.notify_all();
  });
  // Without a place among the waiters it still repeats.
  if (waiter.ok()) waiter_ = *std::move(waiter);
  for (const auto& target : targets_) {
    target->thread = std::thread([this, of = target.get()] { Run(*of); });
  }
}

void Alertmanager::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (const auto& target : targets_) {
    if (target->thread.joinable()) target->thread.join();
  }
  waiter_.reset();
}

void Alertmanager::Run(Target& target) {
  std::chrono::milliseconds retry = options_.first_retry;
  while (!stop_) {
    uint64_t told = 0;
    {
      const std::lock_guard lock(mutex_);
      told = changes_;
    }
    const absl::Status status = PostAll(target);
    if (stop_) return;
    Note(target, status);
    std::unique_lock lock(mutex_);
    if (!status.ok()) {
      // Changes are no reason to try a server that is away more often.
      wake_.wait_for(lock, std::min(retry, options_.repeat), [this] { return stop_.load(); });
      retry = std::min(2 * retry, options_.repeat);
      continue;
    }
    retry = options_.first_retry;
    if (wake_.wait_for(lock, options_.repeat, [&] { return stop_ || changes_ != told; })) {
      wake_.wait_for(lock, options_.gather, [this] { return stop_.load(); });
    }
  }
}

absl::Status Alertmanager::PostAll(const Target& target) {
  const uint64_t now_ns = options_.now_ns();
  const std::vector<v1::Incident> all =
      options_.incidents(now_ns - std::min(now_ns, kToldResolvedNs));
  const std::span<const v1::Incident> incidents(all);
  absl::Status refused;
  // With none it asks all the same: whether it is there is known before it is needed.
  for (size_t from = 0; from == 0 || from < all.size(); from += kBatch) {
    const std::string body = AlertsJson(
        incidents.subspan(from, std::min(kBatch, all.size() - from)), options_.words, now_ns);
    const absl::Status status =
        PostJson(names_, target.to, "/api/v2/alerts", options_.tls, body, options_.timeout, stop_);
    if (status.ok()) continue;
    if (!absl::IsInternal(status)) return status;
    // What it says of these says nothing of the others.
    if (refused.ok()) refused = status;
  }
  return refused;
}

void Alertmanager::Note(Target& target, const absl::Status& status) {
  std::string line;
  {
    const std::lock_guard lock(mutex_);
    const bool was_good = target.state.problem().empty();
    if (status.ok()) {
      target.state.set_posts(target.state.posts() + 1);
      target.state.set_last_post_s(static_cast<double>(options_.now_ns()) / 1e9);
      target.state.clear_problem();
      if (!was_good) line = absl::StrCat("alertmanager ", target.to.text, ": takes posts again");
    } else {
      target.state.set_failures(target.state.failures() + 1);
      target.state.set_problem(std::string(status.message()));
      if (was_good) {
        line = absl::StrCat("alertmanager ", target.to.text,
                            ": cannot be told of incidents: ", target.state.problem(),
                            "; tried again until it can (incidents.alertmanager)");
      }
    }
  }
  if (!line.empty() && options_.log_line) options_.log_line(line);
}

std::vector<v1::AlertTarget> Alertmanager::State() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::AlertTarget> list;
  for (const auto& target : targets_) list.push_back(target->state);
  return list;
}

}  // namespace telltale::alert
