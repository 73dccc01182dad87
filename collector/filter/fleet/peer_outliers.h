// A node unlike its peers: per CPU, a rate that lies six deviations (median and MAD over its peers)
// from what they do at the same time, in five minutes in a row. Peers are nodes with the same label
// `role`; nodes without one are peers if kernel, number of CPUs and the program that runs most
// there are the same. A node needs five peers. It ends with five minutes in a row within the bound,
// or with fifteen in which there was nothing to compare: the node, its peers or the vital are gone.
//
// Minutes are looked at once, three minutes after they ended; what comes later is not seen. What is
// open survives a restart (state "fleet/peers"). Belongs to the runner's thread.

#ifndef TELLTALE_COLLECTOR_FILTER_FLEET_PEER_OUTLIERS_H_
#define TELLTALE_COLLECTOR_FILTER_FLEET_PEER_OUTLIERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/fleet/fleet_outputs.h"
#include "storage/derived.h"

namespace telltale::filter {

class PeerOutliers {
 public:
  static constexpr char kName[] = "peer_outlier";
  static constexpr uint32_t kVersion = 1;
  static constexpr size_t kPeers = 5;

  // All outlive it.
  PeerOutliers(const EpochSource* source, storage::DerivedStore* store, FleetOutputs* outputs);

  absl::Status Look(const std::vector<NodeHead>& nodes, uint64_t now_ns);
  bool IsOpen(const std::string& node, const std::string& vital, const std::string& sub) const;

 private:
  using Series = std::pair<std::string, std::string>;  // vital, sub-series
  // The series of one minute by number: all nodes have much the same hundred.
  struct SeriesBook {
    std::map<Series, uint32_t> numbers;
    std::map<std::string, uint32_t> units;
    static uint32_t NumberIn(auto& book, auto key) {
      return book.try_emplace(std::move(key), static_cast<uint32_t>(book.size())).first->second;
    }
  };
  struct Rate {
    uint32_t series = 0, unit = 0;  // as SeriesBook numbers them
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

  absl::Status LookAt(const std::vector<NodeHead>& nodes, uint64_t minute_ns, uint64_t now_ns);
  absl::StatusOr<Minute> Read(const NodeHead& node, uint64_t minute_ns, SeriesBook& book);
  std::string GroupOf(const Minute& minute);
  absl::Status Judge(const std::string& group, const std::vector<const Minute*>& peers,
                     const SeriesBook& book, uint64_t minute_ns, uint64_t now_ns);
  absl::Status Advance(const Key& key, Track& track, bool outlier, uint64_t minute_ns,
                       uint64_t now_ns);
  absl::Status EndWhatIsGone(uint64_t minute_ns, uint64_t now_ns);
  absl::Status Tell(const Key& key, const Track& track, bool goes_on, uint64_t now_ns);
  void Load();
  absl::Status Save();

  const EpochSource* const source_;
  storage::DerivedStore* const store_;
  FleetOutputs* const outputs_;
  uint64_t next_minute_ns_ = 0;  // 0: none was looked at yet
  std::map<Key, Track> tracks_;
  std::map<uint32_t, std::map<std::string, double>> programs_;  // CPU time of late, by node
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FLEET_PEER_OUTLIERS_H_
