#include "collector/maintenance.h"

#include <string>
#include <utility>

#include "spdlog/spdlog.h"

namespace telltale::collector {

Maintenance::Maintenance(std::chrono::seconds period, std::function<absl::Status()> work)
    : period_(period), work_(std::move(work)), thread_([this] { Run(); }) {}

Maintenance::~Maintenance() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void Maintenance::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    if (const absl::Status status = work_(); !status.ok()) {
      spdlog::error("maintenance: {}; tried again in {} s", std::string(status.message()),
                    period_.count());
    }
    lock.lock();
    stop_.wait_for(lock, period_, [this] { return stopping_; });
  }
}

}  // namespace telltale::collector
