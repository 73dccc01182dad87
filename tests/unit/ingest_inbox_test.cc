#include "collector/ingest/inbox.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/ingest_bench.h"

namespace telltale::testing {
namespace {

class InboxTest : public ::testing::Test {
 protected:
  std::shared_ptr<ingest::Session> NewSession(const std::string& node) {
    return std::make_shared<ingest::Session>(next_id_++, ingest::StreamPeer{.node_name = node},
                                             &sink_);
  }
  static ingest::InboxItem Item(const std::shared_ptr<ingest::Session>& session, size_t bytes) {
    ingest::InboxItem item;
    item.session = session;
    item.bytes = bytes;
    return item;
  }

  ingest::IngestStats stats_;
  FakeStream sink_;
  uint64_t next_id_ = 1;
};

TEST_F(InboxTest, ABacklogOfOneNodeDoesNotHoldUpTheOthers) {
  ingest::Inbox inbox({}, &stats_);
  const auto busy = NewSession("busy");
  const auto quiet = NewSession("quiet");
  for (int i = 0; i < 20; ++i) inbox.Push(Item(busy, 1));
  inbox.Push(Item(quiet, 1));
  const auto batch = inbox.Pop(2, 1000);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].session, busy);
  EXPECT_EQ(batch[1].session, quiet);
}

TEST_F(InboxTest, OneStreamsMessagesKeepTheirOrder) {
  ingest::Inbox inbox({}, &stats_);
  const auto session = NewSession("a");
  for (size_t i = 1; i <= 5; ++i) inbox.Push(Item(session, i));
  const auto batch = inbox.Pop(10, 1000);
  ASSERT_EQ(batch.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(batch[i].bytes, i + 1);
}

TEST_F(InboxTest, ABatchEndsAtItsBytesButOneMessageAlwaysFits) {
  ingest::Inbox inbox({}, &stats_);
  const auto session = NewSession("a");
  inbox.Push(Item(session, 500));
  inbox.Push(Item(session, 60));
  inbox.Push(Item(session, 60));
  EXPECT_EQ(inbox.Pop(10, 100).size(), 1u);
  EXPECT_EQ(inbox.Pop(10, 119).size(), 1u);
  EXPECT_EQ(inbox.Pop(10, 100).size(), 1u);
}

TEST_F(InboxTest, AFullShardPausesEveryStreamUntilThereIsRoom) {
  ingest::Inbox inbox({.bytes = 100, .stream_bytes = 1000}, &stats_);
  const auto a = NewSession("a");
  const auto b = NewSession("b");
  EXPECT_TRUE(inbox.Push(Item(a, 60)));
  EXPECT_FALSE(inbox.Push(Item(b, 60)));
  auto batch = inbox.Pop(10, 1000);
  // Taken out is not done: it is still in memory.
  EXPECT_FALSE(inbox.Push(Item(a, 1)));
  EXPECT_EQ(inbox.bytes(), 121u);
  inbox.Done(std::move(batch));
  EXPECT_EQ(sink_.resumed, 2);
  EXPECT_EQ(inbox.bytes(), 1u);
}

TEST_F(InboxTest, AStreamIsPausedByItsNumberOfMessages) {
  ingest::Inbox inbox({.stream_messages = 3}, &stats_);
  const auto session = NewSession("a");
  EXPECT_TRUE(inbox.Push(Item(session, 0)));
  EXPECT_TRUE(inbox.Push(Item(session, 0)));
  EXPECT_FALSE(inbox.Push(Item(session, 0)));
}

TEST_F(InboxTest, PausesAndResumesMatchUnderLoad) {
  ingest::Inbox inbox({.bytes = 64, .stream_bytes = 8}, &stats_);
  constexpr int kEach = 2000;
  std::atomic<bool> done = false;
  std::atomic<int> handled = 0;
  std::thread consumer([&] {
    while (!done || !inbox.Empty()) {
      inbox.Wait(1'000'000);
      auto batch = inbox.Pop(7, 20);
      handled += static_cast<int>(batch.size());
      inbox.Done(std::move(batch));
    }
  });
  std::vector<FakeStream> sinks(3);
  std::vector<std::thread> producers;
  for (int i = 0; i < 3; ++i) {
    producers.emplace_back([&, i] {
      const auto session = std::make_shared<ingest::Session>(
          100 + i, ingest::StreamPeer{.node_name = "n"}, &sinks[i]);
      int paused = 0;
      for (int n = 0; n < kEach; ++n) {
        if (inbox.Push(Item(session, 3))) continue;
        ++paused;
        while (sinks[i].resumed < paused) std::this_thread::yield();
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  done = true;
  inbox.Wake();
  consumer.join();
  EXPECT_EQ(handled, 3 * kEach);
  EXPECT_EQ(inbox.bytes(), 0u);
}

}  // namespace
}  // namespace telltale::testing
