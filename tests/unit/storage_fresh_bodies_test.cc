// Open bodies of what was stored last: each is given away once, and there is a limit.

#include "storage/fresh_bodies.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

namespace telltale::storage {
namespace {

proto::OpenBody Body(uint64_t start_ns) {
  proto::OpenBody body = proto::OpenBody::Make();
  body->mutable_epoch()->set_start_unix_ns(start_ns);
  return body;
}

FreshBodies::Key Key(uint32_t node, uint64_t sequence) { return {node, Incarnation{1}, sequence}; }

TEST(FreshBodiesTest, ABodyIsGivenAwayOnce) {
  FreshBodies fresh;
  fresh.Put(Key(1, 7), Body(70));
  fresh.Put(Key(2, 7), Body(71));
  EXPECT_FALSE(static_cast<bool>(fresh.Take({1, Incarnation{2}, 7}))) << "another life of the node";
  const auto body = fresh.Take(Key(1, 7));
  ASSERT_TRUE(static_cast<bool>(body));
  EXPECT_EQ(body->epoch().start_unix_ns(), 70u);
  EXPECT_FALSE(static_cast<bool>(fresh.Take(Key(1, 7))));
  EXPECT_TRUE(static_cast<bool>(fresh.Take(Key(2, 7))));
}

TEST(FreshBodiesTest, BeyondTheLimitTheOldestGoes) {
  FreshBodies fresh(3);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) fresh.Put(Key(1, sequence), Body(1));
  EXPECT_TRUE(static_cast<bool>(fresh.Take(Key(1, 2))));
  fresh.Put(Key(1, 4), Body(1));
  fresh.Put(Key(1, 5), Body(1));
  EXPECT_FALSE(static_cast<bool>(fresh.Take(Key(1, 1))));
  for (const uint64_t sequence : {3, 4, 5}) {
    EXPECT_TRUE(static_cast<bool>(fresh.Take(Key(1, sequence)))) << sequence;
  }
}

TEST(FreshBodiesTest, AHugeBodyIsNotKept) {
  FreshBodies fresh;
  proto::OpenBody huge = Body(1);
  huge->mutable_epoch()->set_scope(std::string(FreshBodies::kLargestBytes, 'x'));
  fresh.Put(Key(1, 1), std::move(huge));
  EXPECT_FALSE(static_cast<bool>(fresh.Take(Key(1, 1))));
}

TEST(FreshBodiesTest, OneThreadPutsAnotherTakes) {
  FreshBodies fresh(16);
  constexpr uint64_t kBodies = 2'000;
  std::thread taker([&fresh] {
    for (uint64_t sequence = 0; sequence < kBodies; ++sequence) {
      const auto body = fresh.Take(Key(1, sequence));
      if (body) {
        EXPECT_EQ(body->epoch().start_unix_ns(), sequence);
      }
    }
  });
  for (uint64_t sequence = 0; sequence < kBodies; ++sequence) {
    fresh.Put(Key(1, sequence), Body(sequence));
  }
  taker.join();
}

}  // namespace
}  // namespace telltale::storage
