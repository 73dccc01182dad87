#include "collector/cli/live_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace telltale::cli {
namespace {

constexpr std::chrono::seconds kAgain{5};

}  // namespace

LiveStream::LiveStream(Client* client, v1::SubscribeRequest request)
    : client_(client), request_(std::move(request)), thread_([this] { Run(); }) {}

LiveStream::~LiveStream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  ended_.notify_all();
  thread_.join();
}

LiveStream::News LiveStream::Look() const {
  const std::lock_guard lock(mutex_);
  return news_;
}

void LiveStream::Run() {
  while (true) {
    grpc::ClientContext* context = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (ending_) return;
      context_ = std::make_unique<grpc::ClientContext>();
      context = context_.get();
    }
    const absl::Status status =
        client_->Subscribe(*context, request_, [this](const auto& news) { Take(news); });
    std::unique_lock lock(mutex_);
    news_.up = false;
    news_.seconds.clear();
    news_.problem = status.ok() ? "the collector ended the stream" : std::string(status.message());
    ended_.wait_for(lock, kAgain, [this] { return ending_; });
  }
}

void LiveStream::Take(const v1::LiveNews& news) {
  const std::lock_guard lock(mutex_);
  if (!news_.up) news_.problem.clear();
  news_.up = true;
  news_.dropped = std::max(news_.dropped, news.dropped());
  if (news.has_epoch()) ++news_.epochs;
  if (news.has_trouble()) {
    news_.problem = news.trouble().text();
    news_.seconds.erase(news.trouble().node());
  }
  if (news.has_second()) {
    news_.problem.clear();
    news_.seconds[news.second().node()] = news.second();
  }
}

}  // namespace telltale::cli
