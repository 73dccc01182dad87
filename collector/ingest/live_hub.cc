#include "collector/ingest/live_hub.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/ingest/live_rates.h"

namespace telltale::ingest {
namespace {

constexpr size_t kMaxNameBytes = 255;

}  // namespace

std::optional<v1::LiveNews> LiveFollower::Next() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (items_.empty()) return std::nullopt;
  v1::LiveNews news = std::move(items_.front());
  items_.pop_front();
  news.set_dropped(dropped_);
  return news;
}

bool LiveFollower::closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

bool LiveFollower::Offer(const v1::LiveNews& news) {
  bool fits = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (items_.size() >= kMaxItems) {
      items_.pop_front();
      ++dropped_;
      fits = false;
    }
    items_.push_back(news);
  }
  wake_();
  return fits;
}

void LiveFollower::Close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }
  wake_();
}

std::shared_ptr<LiveFollower> LiveHub::Follow(std::set<std::string> nodes,
                                              std::function<void()> wake) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(followers_, [](const auto& follower) { return follower.expired(); });
  if (closed_ || followers_.size() >= kMaxFollowers) return nullptr;
  // make_shared cannot reach the private constructor.
  std::shared_ptr<LiveFollower> follower(new LiveFollower(std::move(nodes), std::move(wake)));
  followers_.push_back(follower);
  return follower;
}

void LiveHub::Publish(const std::string& node, const v1::Live& live) {
  const Followers followers = Of(node, false);
  if (followers.empty()) return;
  v1::LiveNews news;
  *news.mutable_second() = RatesOf(node, live);
  Offer(followers, news);
}

void LiveHub::PublishEpoch(const std::string& node, uint64_t start_ns, uint64_t end_ns) {
  v1::LiveNews news;
  v1::LiveEpoch& epoch = *news.mutable_epoch();
  epoch.set_node(node);
  epoch.set_start_s(static_cast<double>(start_ns) * 1e-9);
  epoch.set_end_s(static_cast<double>(end_ns) * 1e-9);
  Offer(Of(node, true), news);
}

void LiveHub::PublishTrouble(const std::string& node, const std::string& text) {
  v1::LiveNews news;
  news.mutable_trouble()->set_node(node);
  news.mutable_trouble()->set_text(text);
  Offer(Of(node, false), news);
}

std::set<std::string> LiveHub::Followed() const {
  std::set<std::string> nodes;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& weak : followers_) {
    if (const auto follower = weak.lock()) {
      nodes.insert(follower->nodes_.begin(), follower->nodes_.end());
    }
  }
  return nodes;
}

void LiveHub::Close() {
  Followers followers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    for (const auto& weak : followers_) {
      if (auto follower = weak.lock()) followers.push_back(std::move(follower));
    }
  }
  for (const auto& follower : followers) follower->Close();
}

LiveHub::Followers LiveHub::Of(const std::string& node, bool with_fleet) const {
  Followers found;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& weak : followers_) {
    auto follower = weak.lock();
    if (follower == nullptr) continue;
    const bool fleet = follower->nodes_.empty();
    if (fleet ? with_fleet : follower->nodes_.contains(node)) found.push_back(std::move(follower));
  }
  return found;
}

void LiveHub::Offer(const Followers& followers, const v1::LiveNews& news) {
  for (const auto& follower : followers) {
    if (!follower->Offer(news)) stats_->Add(Count::kLiveDropped);
  }
}

absl::StatusOr<std::shared_ptr<LiveFollower>> Subscribe(LiveHub& hub,
                                                        const v1::SubscribeRequest& request,
                                                        std::function<void()> wake) {
  if (request.nodes_size() > static_cast<int>(LiveHub::kMaxNodes)) {
    return absl::InvalidArgumentError(absl::StrCat("live: ", request.nodes_size(), " nodes, limit ",
                                                   LiveHub::kMaxNodes,
                                                   "; name fewer, or none for the epochs of all"));
  }
  for (const std::string& node : request.nodes()) {
    if (node.empty() || node.size() > kMaxNameBytes) {
      return absl::InvalidArgumentError(absl::StrCat("live: the name of a node has 1 to ",
                                                     kMaxNameBytes, " bytes, one here has ",
                                                     node.size()));
    }
  }
  auto follower = hub.Follow({request.nodes().begin(), request.nodes().end()}, std::move(wake));
  if (follower == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("live: ", LiveHub::kMaxFollowers,
                                                     " follow already, or the collector stops; "
                                                     "try again later"));
  }
  return follower;
}

}  // namespace telltale::ingest
