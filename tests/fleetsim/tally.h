// What a run counted. Each loop has a tally of its own and adds to it without locks; they are added
// up once the loops have ended. The few numbers that are shown while it runs are atomic.

#ifndef TELLTALE_TESTS_FLEETSIM_TALLY_H_
#define TELLTALE_TESTS_FLEETSIM_TALLY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace telltale::fleetsim {

enum class Behaviour : uint8_t {
  kGood,
  kSlowReader,  // reads no answers for a while, and asks for many
  kGarbage,     // sends bytes that are no summary
  kOversize,    // sends more than is allowed
  kFlood,       // sends everything many times
  kEnd,
};
inline constexpr size_t kBehaviours = static_cast<size_t>(Behaviour::kEnd);
const char* BehaviourName(Behaviour behaviour);

struct Answers {
  uint64_t sent = 0;  // summaries, with repetitions
  uint64_t stored = 0, repeats = 0, apart = 0, too_late = 0, refused = 0, retried = 0;
  void Add(const Answers& other);
};

struct Tally {
  std::array<Answers, kBehaviours> answers;
  std::vector<uint32_t> storm_ack_us;  // the same from the first storm on
  std::vector<uint32_t> ack_us;        // of good nodes, within the measured time: sent to stored
  uint64_t cut = 0, settled = 0;
  uint64_t summary_bytes = 0, summary_epochs = 0;  // bodies and cells, compressed, each epoch once
  uint64_t sent_bytes = 0;                         // messages as encoded, all kinds
  uint64_t connects = 0, lost_streams = 0, arrivals = 0, departures = 0;
  uint64_t draw_failures = 0;
  std::unordered_set<uint64_t> fleet_stacks;
  // Sums over nodes of their distinct stacks, and of those that are of the node's own.
  uint64_t stacks_of_nodes = 0, private_stacks = 0, nodes_with_stacks = 0;
  std::vector<uint32_t> reconnect_ms;  // after a storm: until the stream was welcomed again
  void Add(const Tally& other);
};

// Shown while the fleet runs.
struct Live {
  std::atomic<int64_t> connected = 0;
  std::atomic<uint64_t> cut = 0, settled = 0;
};

// The value below which `share` of them lie; 0 without any. Sorts.
double Quantile(std::vector<uint32_t>& values, double share);

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_TALLY_H_
