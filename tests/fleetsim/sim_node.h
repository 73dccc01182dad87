// One simulated agent: the real uplink logic (agent/uplink/uplink_logic.h) over a real stream, with
// a spool that holds only what each epoch is to be drawn from. Owned by its loop, whose thread
// calls every method.

#ifndef TELLTALE_TESTS_FLEETSIM_SIM_NODE_H_
#define TELLTALE_TESTS_FLEETSIM_SIM_NODE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/uplink/clock.h"
#include "agent/uplink/uplink_logic.h"
#include "tests/fleetsim/mischief.h"
#include "tests/fleetsim/node_stream.h"
#include "tests/fleetsim/redraw.h"
#include "tests/fleetsim/tally.h"

namespace telltale::fleetsim {

struct NodePlan {
  NodeTraits traits;
  agent::TlsTexts tls;
  Behaviour behaviour = Behaviour::kGood;
  int64_t skew_ns = 0;  // of the node's wall clock
  uint64_t boot_unix_ns = 0;
  bool count_stacks = false;  // tell its distinct stacks
  uint64_t slow_ns = 0;       // a slow reader's pause after each summary
};

// What the collector must be able to tell of a node afterwards.
struct NodeOutcome {
  std::string name;
  Behaviour behaviour = Behaviour::kGood;
  uint64_t acked = 0;       // epochs that are in its answers
  DrawnTotals totals;       // of these
  uint64_t unanswered = 0;  // sent, but no answer was seen
};

class SimNode final : private agent::SpoolSide, private agent::Transport {
 public:
  // What all nodes of a loop share; outlives them.
  struct World {
    std::string collector;
    uint32_t epoch_s = 60;
    const Redraw* redraw = nullptr;
    Tally* tally = nullptr;
    Live* live = nullptr;
    const uint32_t* storms = nullptr;  // so far
    const bool* measuring = nullptr;   // acks count
    std::unordered_map<std::string, uint64_t>* problems = nullptr;
  };

  SimNode(const World& world, NodePlan plan, std::function<void()> wake);
  ~SimNode() override;

  void Come();                // the agent starts; its spool is as it was left
  void Leave(bool politely);  // with a goodbye, or as if the machine had died
  bool up() const { return logic_ != nullptr; }
  // The epoch [start, end) of the collector's clock is over.
  void Cut(uint64_t start_unix_ns, uint64_t end_unix_ns);
  void BreakStream();

  void OnEvents();
  void Tick();
  uint64_t NextWakeNs() const;

  bool drained() const { return pending_.empty(); }
  bool honest() const { return plan_.behaviour == Behaviour::kGood; }
  NodeOutcome outcome() const;
  size_t distinct_stacks() const { return stacks_.size(); }
  size_t private_stacks() const { return private_stacks_.size(); }
  bool counts_stacks() const { return plan_.count_stacks; }

 private:
  class SkewedClock final : public agent::Clock {
   public:
    explicit SkewedClock(int64_t skew_ns) : skew_ns_(skew_ns) {}
    uint64_t WallNs() const override { return WallNowNs() + static_cast<uint64_t>(skew_ns_); }
    uint64_t MonoNs() const override { return MonoNowNs(); }

   private:
    const int64_t skew_ns_;
  };
  struct Pending {
    CutEpoch epoch;
    bool drawn = false;
    DrawnTotals totals;
    std::vector<uint32_t> new_names;
    uint64_t sent_mono_ns = 0;
    bool uncounted = false;  // too late, or apart
  };

  // The uplink's stream.
  void Open() override;
  void Send(v1::AgentMessage message) override;
  void Finish() override { below_.Finish(); }
  void Abort() override;
  // The uplink's spool.
  absl::StatusOr<agent::Record> Read(uint64_t sequence) override;
  void Settled(uint64_t sequence) override;
  void SetAside(uint64_t sequence, const std::string& reason) override;
  void Unreadable(uint64_t sequence) override;
  void LostRecorded(uint64_t first, uint64_t last) override;
  void NewStore() override;
  void ClockMeasured(int64_t offset_ns, uint64_t error_ns) override;
  void HlcMerged(uint64_t) override {}
  void WatchSeconds(uint32_t) override {}  // its epochs are made whole, it has no seconds to tell

  void OnVerdict(const v1::Verdict& verdict, uint64_t mono_ns);
  void Disconnected();
  Answers& answers();

  const World& world_;
  const NodePlan plan_;
  const SkewedClock clock_;
  NodeStream stream_;
  std::optional<Mischief> mischief_;
  agent::Transport& below_;  // the stream, or the mischief before it
  std::unique_ptr<agent::UplinkLogic> logic_;
  uint64_t starts_ = 0, draws_ = 0;
  uint64_t next_sequence_ = 1;
  uint64_t up_since_unix_ns_ = 0;
  std::map<uint64_t, Pending> pending_;
  std::map<uint64_t, v1::Lost> lost_;  // by first sequence, not recorded yet
  std::vector<bool> named_;
  int64_t offset_ns_ = 0;
  uint64_t error_ns_ = 0;
  bool welcomed_ = false;
  uint64_t broken_mono_ns_ = 0;   // by a storm, and not welcomed since
  uint64_t silent_until_ns_ = 0;  // a slow reader reads again then; 0: it reads
  uint64_t acked_ = 0;
  uint64_t newest_drawn_ = 0;
  DrawnTotals acked_totals_;
  std::unordered_set<uint64_t> stacks_, private_stacks_;
};

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_SIM_NODE_H_
