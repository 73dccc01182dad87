// A real store full of made-up epochs, rolled up, with a query engine on it; and what the epochs
// add up to, worked out from them without any tier.

#ifndef TELLTALE_TESTS_SUPPORT_QUERY_STORE_H_
#define TELLTALE_TESTS_SUPPORT_QUERY_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collector/query/engine.h"
#include "collector/query/store_source.h"
#include "storage/store.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {

class QueryStore {
 public:
  static constexpr uint64_t kStart = 20'500 * storage::kDayNs;

  // `cache_bytes`: of the engine; 0: every answer is computed.
  explicit QueryStore(uint32_t nodes, storage::RetentionOptions retention = {},
                      size_t cache_bytes = 1 << 20);

  // Epochs of 60 s, as many as fit into [from_s, to_s) after kStart, of every node; sequence 1
  // begins at kStart.
  void Put(uint64_t from_s, uint64_t to_s);
  // One epoch of one node (from 0), perhaps late.
  void PutOne(uint32_t node, uint64_t sequence);
  void RollUp();  // everything that is over at now()

  // Changes every body that is put or summed from now on.
  void set_change(std::function<void(uint64_t sequence, v1::SummaryBody&)> change) {
    change_ = std::move(change);
  }
  void set_now(uint64_t after_s) { now_ns_ = kStart + after_s * storage::kSecondNs; }

  const query::Engine& engine() const { return *engine_; }
  storage::Store& store() { return *store_; }
  const query::Source& source() const { return *source_; }
  std::string name(uint32_t node) const { return makers_[node].name(); }
  v1::SummaryBody Body(uint32_t node, uint64_t sequence) const;

  template <typename Request>
  Request Asked(double from_s, double to_s, v1::Tier tier = v1::TIER_AUTO) const {
    Request request;
    request.mutable_selection()->set_start_s(static_cast<double>(kStart) * 1e-9 + from_s);
    request.mutable_selection()->set_end_s(static_cast<double>(kStart) * 1e-9 + to_s);
    request.mutable_selection()->set_tier(tier);
    return request;
  }

 private:
  MadeSummary Make(uint32_t node, uint64_t sequence) const;

  TempDir dir_;
  uint64_t now_ns_ = kStart;
  std::function<void(uint64_t, v1::SummaryBody&)> change_;
  std::vector<SyntheticNode> makers_;
  std::vector<uint32_t> numbers_;
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<query::StoreSource> source_;
  std::unique_ptr<query::Engine> engine_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_QUERY_STORE_H_
