// A node unlike its peers: per CPU, a rate that lies six deviations (median and MAD over its peers)
// from what they do at the same time, in five minutes in a row. Peers are nodes with the same label
// `role`; nodes without one are peers if kernel, number of CPUs and the program that runs most
// there are the same. An agent of a cgroup is no peer of one of a whole host. A node needs five
// peers. It ends with five minutes in a row within the bound, or with fifteen in which there was
// nothing to compare: the node, its peers or the vital are gone.
//
// Minutes are looked at once, three minutes after they ended; what comes later is not seen. What
// was counted in an epoch is noted when it is shown to the filters; epochs of a node of whose
// minute nothing was noted are read. A minute is judged once: one of which a node cannot be read
// waits, with what there is of it, and so does what is found in it for a store that fails. What is
// open survives a restart (state "fleet/peers"). Belongs to the runner's thread.

#ifndef TELLTALE_COLLECTOR_FILTER_FLEET_PEER_OUTLIERS_H_
#define TELLTALE_COLLECTOR_FILTER_FLEET_PEER_OUTLIERS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/fleet/fleet_outputs.h"
#include "storage/derived.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/query.pb.h"

namespace telltale::filter {

class PeerOutliers {
 public:
  static constexpr char kName[] = "peer_outlier";
  static constexpr uint32_t kVersion = 3;
  static constexpr size_t kPeers = 5;

  // All outlive it.
  PeerOutliers(const EpochSource* source, storage::DerivedStore* store, FleetOutputs* outputs);

  // Of an epoch that is open, ascending by start; again is safe.
  void Note(uint32_t node, const SourceEpoch& epoch);
  absl::Status Look(const std::vector<NodeHead>& nodes, uint64_t now_ns);
  // On one of the nodes; none named: on any.
  bool IsOpen(const NodeNames& nodes, const std::string& vital, const std::string& sub) const;
  // Of which nodes it cannot speak: those without five peers, as of the last minute, and all until
  // it has seen as many minutes as it must.
  std::vector<v1::FilterLearning> Learning(const std::vector<NodeHead>& nodes) const;

 private:
  using Series = std::pair<std::string, std::string>;  // vital, sub-series
  // Series, units and programs by number: all nodes have much the same hundred.
  template <typename Key>
  class Numbers {
   public:
    explicit Numbers(size_t most) : most_(most) {}
    // nullopt: there are too many already.
    std::optional<uint32_t> Of(const Key& key) {
      if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
      if (full()) return std::nullopt;
      const auto added = numbers_.emplace(key, static_cast<uint32_t>(keys_.size())).first;
      keys_.push_back(&added->first);
      return added->second;
    }
    const std::map<Key, uint32_t>& all() const { return numbers_; }
    const Key& operator[](uint32_t number) const { return *keys_[number]; }
    bool full() const { return keys_.size() >= most_; }
    void clear() {
      keys_.clear();
      numbers_.clear();
    }

   private:
    const size_t most_;
    std::map<Key, uint32_t> numbers_;
    std::vector<const Key*> keys_;  // of numbers_, by number
  };
  // What a node counted in one minute, and in how much watched time.
  struct Sum {
    uint16_t series = 0, unit = 0;
    float weight = 0, seconds = 0;
  };
  struct Account {
    uint64_t minute_ns = 0;
    uint32_t cpus = 1;
    std::vector<Sum> sums;  // ascending by series
  };
  struct Noted {
    uint64_t last_start_ns = 0;     // of an epoch
    std::vector<Account> accounts;  // of minutes that are not looked at yet, ascending
  };
  struct Rate {
    uint32_t series = 0, unit = 0;  // their numbers
    double per_cpu = 0;
  };
  struct Minute {
    const NodeHead* node = nullptr;
    double cpus = 1;
    std::vector<Rate> rates;
  };
  struct Track {
    uint32_t held = 0, missed = 0;  // minutes in a row
    bool told = false;
    uint64_t start_ns = 0, last_ns = 0;
    uint64_t compared = 0;     // minutes the series was held against peers'
    uint64_t compared_ns = 0;  // the latest of them; 0: none since a restart
    uint32_t alone = 0;        // minutes in a row in which it was not
    double value = 0, usual = 0, deviation = 0;
    std::string node, unit, text, evidence;
  };
  using Key = std::pair<uint32_t, Series>;  // node and series
  struct Untold {
    uint32_t node = 0;
    std::string name;  // the node's
    v1::FilterAnomaly anomaly;
  };

  bool Counts(const NodeHead& node, uint64_t minute_ns) const;
  absl::Status ReadWhatWasNotNoted(const std::vector<NodeHead>& nodes, uint64_t minute_ns);
  void LookAt(const std::vector<NodeHead>& nodes, uint64_t minute_ns);
  std::optional<Account> TakeNoted(uint32_t node, uint64_t minute_ns);
  absl::Status Read(uint32_t node, uint64_t minute_ns);
  void AddTo(Account& account, uint32_t node, const SourceEpoch& epoch);
  void NoteProgram(uint32_t node, const char* program, double run_ns);
  std::string GroupOf(const Minute& minute);
  // nullopt: enough, or it is not known.
  std::optional<uint32_t> FewPeers(const NodeHead& node, size_t nodes) const;
  void Judge(const std::string& group, const std::vector<const Minute*>& peers, uint64_t minute_ns);
  void Advance(const Key& key, Track& track, bool outlier, uint64_t minute_ns);
  void EndWhatIsGone(uint64_t minute_ns);
  void Tell(const Key& key, const Track& track, bool goes_on);
  // Puts what the last minute brought into the store.
  absl::Status Settle(uint64_t now_ns);
  void Load();
  absl::Status Save();

  const EpochSource* const source_;
  storage::DerivedStore* const store_;
  FleetOutputs* const outputs_;
  uint64_t next_minute_ns_ = 0;  // 0: none was looked at yet
  bool are_many_ = false;        // nodes: else none has peers
  uint32_t looked_ = 0;          // minutes in a row since a restart, as far as it matters
  std::map<uint32_t, uint32_t> few_peers_;  // how many, by node, of those with too few
  std::map<Key, Track> tracks_;
  // What Settle has to do.
  std::deque<Untold> untold_;
  bool to_carry_ = false, to_save_ = false;
  Numbers<Series> series_{4'096};
  Numbers<std::string> units_{256};
  std::map<uint32_t, Noted> noted_;  // by node
  Numbers<std::string> program_numbers_{65'536};
  // CPU time of late by the number of the program, by node.
  std::map<uint32_t, std::vector<std::pair<uint32_t, float>>> programs_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FLEET_PEER_OUTLIERS_H_
