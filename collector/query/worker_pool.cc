#include "collector/query/worker_pool.h"

#include <algorithm>
#include <utility>

namespace telltale::query {

WorkerPool::WorkerPool(size_t threads, size_t max_queued)
    : most_running_(std::max<size_t>(threads, 2) - 1),
      max_queued_(max_queued),
      most_queued_(std::max<size_t>(max_queued / 2, 1)) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::Submit(const std::string& asker, std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (ending_ || queue_.size() >= max_queued_) return false;
    const auto share = shares_.find(asker);
    if (share != shares_.end() && share->second.queued >= most_queued_) return false;
    ++shares_[asker].queued;
    queue_.push_back({asker, std::move(work)});
  }
  wake_.notify_one();
  return true;
}

std::deque<WorkerPool::Item>::iterator WorkerPool::Next() {
  return std::find_if(queue_.begin(), queue_.end(), [this](const Item& item) {
    return ending_ || shares_[item.asker].running < most_running_;
  });
}

void WorkerPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    // What waits for its asker's other questions is looked for again here when one of them is done.
    wake_.wait(lock, [this] { return ending_ || Next() != queue_.end(); });
    const auto next = Next();
    if (next == queue_.end()) return;
    const Item item = std::move(*next);
    queue_.erase(next);
    --shares_[item.asker].queued;
    ++shares_[item.asker].running;
    lock.unlock();
    item.work();
    lock.lock();
    Share& share = shares_[item.asker];
    if (--share.running == 0 && share.queued == 0) shares_.erase(item.asker);
  }
}

}  // namespace telltale::query
