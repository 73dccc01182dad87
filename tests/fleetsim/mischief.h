// A bad citizen's transport: stands between a node's honest logic and its stream and spoils what
// goes out. Owned by the node; its loop's thread.

#ifndef TELLTALE_TESTS_FLEETSIM_MISCHIEF_H_
#define TELLTALE_TESTS_FLEETSIM_MISCHIEF_H_

#include <cstdint>

#include "agent/uplink/transport.h"
#include "tests/fleetsim/tally.h"

namespace telltale::fleetsim {

class Mischief final : public agent::Transport {
 public:
  // `stream` outlives this.
  Mischief(Behaviour behaviour, uint64_t seed, agent::Transport* stream)
      : behaviour_(behaviour), seed_(seed), stream_(*stream) {}

  void Open() override { stream_.Open(); }
  void Send(v1::AgentMessage message) override;
  void Finish() override { stream_.Finish(); }
  void Abort() override { stream_.Abort(); }

 private:
  std::string Noise(size_t bytes);

  const Behaviour behaviour_;
  uint64_t seed_;
  uint64_t summaries_ = 0;
  agent::Transport& stream_;
};

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_MISCHIEF_H_
