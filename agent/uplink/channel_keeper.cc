#include "agent/uplink/channel_keeper.h"

#include <chrono>
#include <thread>
#include <utility>

namespace telltale::agent {
namespace {

bool Unused(const std::shared_ptr<grpc::Channel>& channel) { return channel.use_count() == 1; }

}  // namespace

ChannelKeeper::~ChannelKeeper() {
  constexpr std::chrono::milliseconds kLook(1);
  constexpr int kLooks = 10'000;
  for (int look = 0; look < kLooks; ++look) {
    LetGo();
    if (channels_.empty()) return;
    std::this_thread::sleep_for(kLook);
  }
  // A stream that does not end: rather its memory is lost than freed under it.
  new std::vector<std::shared_ptr<grpc::Channel>>(std::move(channels_));
}

void ChannelKeeper::Keep(std::shared_ptr<grpc::Channel> channel) {
  LetGo();
  channels_.push_back(std::move(channel));
}

void ChannelKeeper::LetGo() { std::erase_if(channels_, Unused); }

}  // namespace telltale::agent
