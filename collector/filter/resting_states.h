// What the filters know of each node between two of its epochs: the states of a node's instances,
// packed together (zstd). A node sends an epoch a minute and is known by maps of twenty filters,
// which take several times the room of their packed states; they are open while an epoch is shown.
//
// Belongs to the runner's thread.

#ifndef TELLTALE_COLLECTOR_FILTER_RESTING_STATES_H_
#define TELLTALE_COLLECTOR_FILTER_RESTING_STATES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace telltale::filter {

class RestingStates {
 public:
  // One a filter, in the runner's order; nullopt: its instance does not rest.
  using States = std::vector<std::optional<std::string>>;

  RestingStates();
  ~RestingStates();

  // Instead of what is kept of the node. False: there is no memory to pack them; nothing is kept.
  bool Put(uint32_t node, const States& states);
  // What Put was given last, which is kept no longer; empty: nothing is.
  States Take(uint32_t node);
  bool Has(uint32_t node) const { return node < packed_.size() && !packed_[node].empty(); }

 private:
  struct Packer;
  const std::unique_ptr<Packer> packer_;
  std::vector<std::string> packed_;  // [node number]
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_RESTING_STATES_H_
