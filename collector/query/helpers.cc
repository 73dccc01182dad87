#include "collector/query/helpers.h"

#include "collector/thread_priority.h"

namespace telltale::query {

Helpers::Helpers(size_t threads) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Help(); });
}

Helpers::~Helpers() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  more_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Helpers::DoOne(Job& job, std::unique_lock<std::mutex>& lock) {
  const size_t part = job.next++;
  ++job.running;
  if (job.next == job.parts) jobs_.remove(&job);
  lock.unlock();
  (*job.part)(part);
  lock.lock();
  // Its owner may be gone as soon as the lock is.
  if (--job.running == 0 && job.next == job.parts) done_.notify_all();
}

void Helpers::Run(size_t parts, const std::function<void(size_t)>& part) {
  if (parts == 0) return;
  Job job{&part, parts};
  std::unique_lock lock(mutex_);
  jobs_.push_back(&job);
  more_.notify_all();
  while (job.next < job.parts) DoOne(job, lock);
  done_.wait(lock, [&job] { return job.running == 0; });
}

void Helpers::Help() {
  collector::LetIngestGoFirst();
  std::unique_lock lock(mutex_);
  while (true) {
    more_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (ending_) return;
    DoOne(*jobs_.front(), lock);
  }
}

}  // namespace telltale::query
