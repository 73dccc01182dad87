// Sends what is new in a log to those who follow it over gRPC: one thread asks the log for each
// follower what came after its cursor, so a slow reader delays nobody and nothing is lost or
// repeated. Of a follower it holds one batch; the next is fetched when that was written. One who
// takes nothing for `stalled` is cut, and told with which cursor to go on; one who may not ask any
// more is cut, too. What he is told then waits behind what he did not read: one who does not read
// that within `lingers` either is cut without a word, as he would keep his place for as long as his
// connection lasts.
//
// Thread-safe. Owned by a service; what its source names outlives it.

#ifndef TELLTALE_COLLECTOR_FEED_FOLLOWERS_H_
#define TELLTALE_COLLECTOR_FEED_FOLLOWERS_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "collector/feed/asker.h"
#include "collector/grpc_stats.h"

namespace telltale::feed {

// Item: a message with a cursor().
template <typename Item>
class Followers {
 public:
  struct Source {
    std::string of;                       // "anomalies": what is followed, in errors
    std::function<std::string()> newest;  // the cursor behind all there is
    // Oldest first, at most `limit` behind the cursor; errors end the stream.
    std::function<absl::StatusOr<std::vector<Item>>(const std::string& cursor, size_t limit)> after;
    // Sent first to who follows without a cursor, with the cursor he began at: who is cut before
    // the first item loses none. May be empty: nothing is.
    std::function<Item(const std::string& cursor)> greeting;
    size_t most = 256;
    std::chrono::milliseconds stalled{60'000};
    std::chrono::milliseconds lingers{60'000};
    collector::GrpcStats* stats = nullptr;  // counts those who are one too many and those cut
  };
  using Wants = std::function<bool(const Item&)>;

  explicit Followers(Source source) : source_(std::move(source)), thread_([this] { Run(); }) {}
  ~Followers() {
    Stop();
    thread_.join();
  }
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  // The reactor of one call, from `cursor` on; empty: from now on. Finishes at once with
  // ResourceExhausted where there are too many. `context`: the call's.
  grpc::ServerWriteReactor<Item>* Begin(grpc::CallbackServerContext* context, Asker asker,
                                        std::string cursor, Wants wants) {
    auto reactor = std::make_shared<Reactor>(this, context, std::move(asker), std::move(cursor),
                                             std::move(wants));
    reactor->Keep(reactor);
    bool room = false;
    {
      const std::lock_guard lock(mutex_);
      room = !ending_ && reactors_.size() < source_.most;
      if (room) reactors_.insert(reactor);
    }
    if (!room) {
      source_.stats->Refuse(collector::GrpcRefusal::kFollowers);
      reactor->End(
          {grpc::StatusCode::RESOURCE_EXHAUSTED,
           absl::StrCat(source_.of, ": ", source_.most, " follow already; try again later")});
    }
    wake_.notify_one();
    return reactor.get();
  }

  void Stop() {  // finishes all with Unavailable
    std::set<std::shared_ptr<Reactor>> all;
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      all = reactors_;
    }
    wake_.notify_all();
    for (const auto& reactor : all) {
      reactor->End({grpc::StatusCode::UNAVAILABLE, "the collector is stopping"});
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPoll{500};
  static constexpr size_t kBatch = 64;

  // Lives until OnDone, kept by `self_`.
  class Reactor : public grpc::ServerWriteReactor<Item> {
   public:
    Reactor(Followers* owner, grpc::CallbackServerContext* context, Asker asker, std::string cursor,
            Wants wants)
        : owner_(owner),
          asker_(std::move(asker)),
          wants_(std::move(wants)),
          cursor_(std::move(cursor)),
          context_(context),
          taken_(cursor_) {}
    void Keep(std::shared_ptr<Reactor> self) { self_ = std::move(self); }

    // By the polling thread.
    void Poll() {
      const Source& source = owner_->source_;
      {
        std::unique_lock lock(mutex_);
        if (finished_) {
          CutIfItLingers();
          return;
        }
        if (writing_ && Clock::now() - began_ > source.stalled) {
          const std::string told =
              absl::StrCat(source.of, ": nothing was read for ", source.stalled.count() / 1000,
                           " s; go on with cursor ", taken_);
          lock.unlock();
          source.stats->Refuse(collector::GrpcRefusal::kStalled);
          End({grpc::StatusCode::RESOURCE_EXHAUSTED, told});
          return;
        }
      }
      if (const absl::Status may = asker_.MayStill(); !may.ok()) {
        End({static_cast<grpc::StatusCode>(may.code()), std::string(may.message())});
        return;
      }
      {
        const std::lock_guard lock(mutex_);
        if (!queue_.empty() || writing_) return;
      }
      std::optional<Item> greeting;
      if (cursor_.empty()) {
        cursor_ = source.newest();
        if (source.greeting) greeting = source.greeting(cursor_);
      }
      absl::StatusOr<std::vector<Item>> fresh = source.after(cursor_, kBatch);
      if (!fresh.ok()) {
        End({static_cast<grpc::StatusCode>(fresh.status().code()),
             std::string(fresh.status().message())});
        return;
      }
      const std::lock_guard lock(mutex_);
      if (greeting.has_value()) queue_.push_back(*std::move(greeting));
      for (Item& item : *fresh) {
        cursor_ = item.cursor();
        if (wants_(item)) queue_.push_back(std::move(item));
      }
      if (queue_.empty()) taken_ = cursor_;
      WriteNext();
    }

    void End(const grpc::Status& status) {
      const std::lock_guard lock(mutex_);
      if (finished_) return;
      finished_ = true;
      ended_ = Clock::now();
      this->Finish(status);
    }

    void OnWriteDone(bool ok) override {
      if (!ok) {
        End(grpc::Status::CANCELLED);
        return;
      }
      const std::lock_guard lock(mutex_);
      writing_ = false;
      if (!queue_.empty()) {
        taken_ = queue_.front().cursor();
        queue_.pop_front();
      }
      WriteNext();
    }
    void OnCancel() override { End(grpc::Status::CANCELLED); }
    void OnDone() override {
      const std::shared_ptr<Reactor> self = std::move(self_);
      {
        const std::lock_guard lock(mutex_);
        context_ = nullptr;  // goes with the call
      }
      owner_->Remove(this);
    }

   private:
    // mutex_ held, so that the call lives; gRPC calls back from threads of its own.
    void CutIfItLingers() {
      if (context_ == nullptr || Clock::now() - ended_ <= owner_->source_.lingers) return;
      context_->TryCancel();
      context_ = nullptr;
    }
    void WriteNext() {  // mutex_ held
      if (finished_ || writing_ || queue_.empty()) return;
      writing_ = true;
      began_ = Clock::now();
      this->StartWrite(&queue_.front());
    }

    Followers* const owner_;
    const Asker asker_;
    const Wants wants_;
    std::shared_ptr<Reactor> self_;
    std::string cursor_;  // of the last fetched; polling thread only
    std::mutex mutex_;
    // Guarded by mutex_ from here.
    grpc::CallbackServerContext* context_;  // nullptr: cancelled, or done
    Clock::time_point ended_;               // if finished_
    std::string taken_;                     // cursor of the last that was written, or passed over
    std::deque<Item> queue_;                // front is being written
    Clock::time_point began_;
    bool writing_ = false;
    bool finished_ = false;
  };

  void Remove(Reactor* reactor) {
    const std::lock_guard lock(mutex_);
    std::erase_if(reactors_, [&](const auto& known) { return known.get() == reactor; });
  }

  void Run() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      const std::vector<std::shared_ptr<Reactor>> all(reactors_.begin(), reactors_.end());
      lock.unlock();
      for (const auto& reactor : all) reactor->Poll();
      lock.lock();
      if (ending_) return;
      if (reactors_.empty()) {
        wake_.wait(lock, [this] { return ending_ || !reactors_.empty(); });
      } else {
        wake_.wait_for(lock, kPoll);
      }
    }
  }

  const Source source_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<std::shared_ptr<Reactor>> reactors_;  // guarded by mutex_
  bool ending_ = false;                          // guarded by mutex_
  std::thread thread_;                           // keep last
};

}  // namespace telltale::feed

#endif  // TELLTALE_COLLECTOR_FEED_FOLLOWERS_H_
