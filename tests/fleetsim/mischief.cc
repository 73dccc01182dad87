#include "tests/fleetsim/mischief.h"

#include <string>
#include <utility>

#include "tests/fleetsim/node_stream.h"
#include "tests/fleetsim/noise.h"

namespace telltale::fleetsim {
namespace {

constexpr size_t kOverTheBodyLimit = 300 << 10;  // of 256 KB
constexpr size_t kOverTheMessageLimit = 6 << 20;
constexpr uint64_t kHugeEvery = 3;  // of the oversize ones
constexpr int kFloodSummaries = 100, kFloodProbes = 500, kSlowProbes = 1000;

}  // namespace

std::string Mischief::Noise(size_t bytes) {
  std::string noise(bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(seed_ = Mix(seed_));
  return noise;
}

void Mischief::Send(v1::AgentMessage message) {
  if (!message.has_summary()) return stream_.Send(std::move(message));
  ++summaries_;
  v1::AgentMessage probe;
  probe.mutable_probe()->set_sent_unix_ns(WallNowNs());
  switch (behaviour_) {
    case Behaviour::kGarbage:
      message.mutable_summary()->set_body(Noise(message.summary().body().size()));
      break;
    case Behaviour::kOversize:
      message.mutable_summary()->set_body(
          Noise(summaries_ % kHugeEvery == 0 ? kOverTheMessageLimit : kOverTheBodyLimit));
      break;
    case Behaviour::kFlood:
      for (int i = 0; i < kFloodSummaries; ++i) stream_.Send(message);
      for (int i = 0; i < kFloodProbes; ++i) stream_.Send(probe);
      break;
    case Behaviour::kSlowReader:
      for (int i = 0; i < kSlowProbes; ++i) stream_.Send(probe);
      break;
    case Behaviour::kGood:
    case Behaviour::kEnd:
      break;
  }
  stream_.Send(std::move(message));
}

}  // namespace telltale::fleetsim
