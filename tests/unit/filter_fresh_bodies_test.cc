// Filters are shown an epoch as it came, while its body is still open, or as it is stored: that is
// the same.

#include "collector/filter/epoch_source.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "collector/ingest/store_adapter.h"
#include "proto/codec.h"
#include "storage/store.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

class FilterFreshBodiesTest : public ::testing::Test {
 protected:
  FilterFreshBodiesTest() : store_(Open()), adapter_(store_.get()) {
    ingest::IngestOptions options;
    options.shards = 1;
    core_ =
        std::make_unique<ingest::IngestCore>(options, ingest::IngestSettings{}, &adapter_, &clock_);
    AgentIdentity who = {.node = "web-1"};
    session_ = stream_.Open(*core_, who.node);
    v1::AgentMessage hello = Hello(who);
    const auto incarnation = node_.incarnation();
    hello.mutable_hello()->set_incarnation(incarnation.data(), incarnation.size());
    Deliver(hello);
    Deliver(SchemaMessage());
  }

  std::unique_ptr<storage::Store> Open() {
    storage::StoreOptions options;
    options.path = dir_.path() + "/store";
    options.now_ns = [this] { return clock_.UnixNs(); };
    options.min_free_bytes = 0;
    options.memory_bytes = 32 << 20;
    return *storage::Store::Open(options);
  }
  void Deliver(v1::AgentMessage message) {
    core_->Deliver(session_, std::move(message));
    core_->RunPending();
  }
  // An epoch of the node comes in over the wire.
  void Arrive(uint64_t sequence) {
    v1::AgentMessage message;
    *message.mutable_summary() = node_.Make(sequence, kStart + sequence * 60 * kSecond).summary;
    clock_.Advance(60 * kSecond);
    Deliver(message);
    ASSERT_EQ(stream_.VerdictOn(sequence).kind(), v1::Verdict::STORED)
        << stream_.VerdictOn(sequence).reason();
  }
  std::vector<std::string> Shown(const filter::EpochSource& source) {
    std::vector<std::string> bodies;
    EXPECT_TRUE(source
                    .ForEach(*adapter_.NumberOf("web-1"), 0, UINT64_MAX,
                             [&](const filter::SourceEpoch& epoch) {
                               bodies.push_back(proto::Canonical(*epoch.body));
                               return true;
                             })
                    .ok());
    return bodies;
  }

  TempDir dir_;
  TurnedClock clock_;
  std::unique_ptr<storage::Store> store_;
  ingest::StoreAdapter adapter_;
  SyntheticNode node_{"web-1", 1};
  std::unique_ptr<ingest::IngestCore> core_;
  FakeStream stream_;
  std::shared_ptr<ingest::Session> session_;
};

TEST_F(FilterFreshBodiesTest, WhatCameIsWhatIsStored) {
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) Arrive(sequence);
  const filter::StoreEpochSource opens(&store_->reader());
  const filter::StoreEpochSource takes(&store_->reader(), &store_->fresh_bodies());
  const std::vector<std::string> stored = Shown(opens);
  ASSERT_EQ(stored.size(), 5u);
  EXPECT_EQ(Shown(takes), stored) << "as they came";
  EXPECT_EQ(Shown(takes), stored) << "none is left, so they are opened";
}

TEST_F(FilterFreshBodiesTest, WhatCameIsKeptOpenUntilItIsTaken) {
  Arrive(1);
  const storage::FreshBodies::Key key = {*adapter_.NumberOf("web-1"), node_.incarnation(), 1};
  const auto kept = store_->fresh_bodies().Take(key);
  ASSERT_TRUE(static_cast<bool>(kept));
  EXPECT_EQ(proto::Canonical(*kept), Shown(filter::StoreEpochSource(&store_->reader())).front());
}

TEST_F(FilterFreshBodiesTest, ABodyThatIsThereIsNotOpened) {
  Arrive(1);
  proto::OpenBody marked = proto::OpenBody::Make();
  marked->mutable_epoch()->set_scope("as it came");
  const std::string canonical = proto::Canonical(*marked);
  storage::FreshBodies fresh;
  fresh.Put({*adapter_.NumberOf("web-1"), node_.incarnation(), 1}, std::move(marked));
  const filter::StoreEpochSource takes(&store_->reader(), &fresh);
  EXPECT_EQ(Shown(takes), std::vector<std::string>{canonical});
}

}  // namespace
}  // namespace telltale::testing
