#include "tests/support/query_store.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"

namespace telltale::testing {
namespace {

constexpr uint64_t kEpochS = 60;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "query store: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace

QueryStore::QueryStore(uint32_t nodes, storage::RetentionOptions retention, size_t cache_bytes) {
  storage::StoreOptions options;
  options.path = dir_.path() + "/store";
  options.now_ns = [this] { return now_ns_; };
  options.min_free_bytes = 0;
  options.memory_bytes = 128 << 20;
  options.retention = retention;
  auto store = storage::Store::Open(options);
  Check(store.status());
  store_ = *std::move(store);
  const v1::Schema schema = proto::BuiltinSchema();
  for (uint32_t i = 0; i < nodes; ++i) {
    makers_.emplace_back(absl::StrCat("node-", i), i + 1);
    numbers_.push_back(*store_->nodes().NumberOf(makers_.back().name()));
    Check(store_->summaries().PutSchema(numbers_.back(), schema));
  }
  source_ = std::make_unique<query::StoreSource>(&store_->reader());
  query::EngineOptions engine;
  engine.source = source_.get();
  engine.now_ns = [this] { return now_ns_; };
  engine.cache_bytes = cache_bytes;
  engine_ = std::make_unique<query::Engine>(std::move(engine));
}

MadeSummary QueryStore::Make(uint32_t node, uint64_t sequence) const {
  return makers_[node].MakeWith(sequence, kStart + (sequence - 1) * kEpochS * storage::kSecondNs,
                                kEpochS, [&](v1::SummaryBody& body) {
                                  if (change_) change_(sequence, body);
                                });
}

v1::SummaryBody QueryStore::Body(uint32_t node, uint64_t sequence) const {
  v1::SummaryBody body =
      makers_[node].Body(sequence, kStart + (sequence - 1) * kEpochS * storage::kSecondNs, kEpochS);
  if (change_) change_(sequence, body);
  return body;
}

void QueryStore::PutOne(uint32_t node, uint64_t sequence) {
  const MadeSummary made = Make(node, sequence);
  const storage::Incoming item{numbers_[node], &made.summary, &made.body};
  Check(store_->summaries().PutBatch({&item, 1}).status());
}

void QueryStore::Put(uint64_t from_s, uint64_t to_s) {
  for (uint32_t node = 0; node < makers_.size(); ++node) {
    std::vector<MadeSummary> made;
    std::vector<storage::Incoming> batch;
    for (uint64_t at = from_s; at < to_s; at += kEpochS)
      made.push_back(Make(node, at / kEpochS + 1));
    for (const MadeSummary& one : made) {
      batch.push_back({numbers_[node], &one.summary, &one.body});
      if (batch.size() < 128 && &one != &made.back()) continue;
      Check(store_->summaries().PutBatch(batch).status());
      batch.clear();
    }
  }
}

void QueryStore::RollUp() {
  for (uint32_t done = 1; done > 0;) {
    absl::StatusOr<uint32_t> windows = store_->roller().RunDue(numbers_, now_ns_, 1000);
    Check(windows.status());
    done = *windows;
  }
  for (uint32_t done = 1; done > 0;) {
    absl::StatusOr<uint32_t> blocks = store_->roller().RunLines(now_ns_, 1000);
    Check(blocks.status());
    done = *blocks;
  }
}

}  // namespace telltale::testing
