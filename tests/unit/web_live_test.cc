// What happens now as server-sent events, without a socket.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/ingest/ingest_stats.h"
#include "collector/web/live_events.h"

namespace telltale::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LiveEventsTest : public ::testing::Test {
 protected:
  Response Ask(std::vector<std::pair<std::string, std::string>> query) {
    Request request;
    request.method = "GET";
    request.query = std::move(query);
    return FollowLive(&hub_)(request);
  }
  static std::string Read(BodyStream& stream, BodyStream::Step expected) {
    std::string piece;
    const auto step = stream.Next(piece);
    EXPECT_TRUE(step.ok() && *step == expected) << piece;
    return piece;
  }

  ingest::IngestStats stats_;
  ingest::LiveHub hub_{&stats_};
};

TEST_F(LiveEventsTest, BeginsThenTellsAndWakes) {
  Response response = Ask({{"node", "web-1"}});
  ASSERT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/event-stream");
  int woken = 0;
  response.stream->SetWake([&] { ++woken; });
  EXPECT_THAT(Read(*response.stream, BodyStream::Step::kWait), StartsWith("event: begin\n"));
  v1::Live live;
  live.set_unix_ns(1'500'000'000);
  live.add_vitals()->set_id(1);
  hub_.Publish("web-1", live);
  hub_.Publish("db-1", live);
  hub_.PublishEpoch("web-1", 0, 60'000'000'000);
  hub_.PublishTrouble("web-1", "<b>\n\"");
  EXPECT_EQ(woken, 3);
  const std::string told = Read(*response.stream, BodyStream::Step::kWait);
  EXPECT_THAT(told, StartsWith("event: second\ndata: {"));
  EXPECT_THAT(told, HasSubstr("\"end_s\":1.5"));
  EXPECT_THAT(told, HasSubstr("event: epoch\n"));
  EXPECT_THAT(told, HasSubstr("event: trouble\n"));
  EXPECT_THAT(told, Not(HasSubstr("db-1")));
}

TEST_F(LiveEventsTest, ASlowReaderIsToldHowMuchItLost) {
  Response response = Ask({});
  for (size_t i = 0; i < ingest::LiveFollower::kMaxItems + 3; ++i) hub_.PublishEpoch("n", i, i + 1);
  EXPECT_THAT(Read(*response.stream, BodyStream::Step::kWait), HasSubstr("\"dropped\":3"));
}

TEST_F(LiveEventsTest, WhatIsWrongIsAnErrorAndNotAStream) {
  EXPECT_EQ(Ask({{"nodes", "web-1"}}).status, 400);
  EXPECT_EQ(Ask({{"node", ""}}).status, 400);
  std::vector<std::pair<std::string, std::string>> many;
  for (size_t i = 0; i <= ingest::LiveHub::kMaxNodes; ++i) {
    many.emplace_back("node", "n" + std::to_string(i));
  }
  EXPECT_EQ(Ask(many).status, 400);
}

TEST_F(LiveEventsTest, TooManyAreTurnedAwayAndThoseWhoLeaveMakeRoom) {
  std::vector<Response> open;
  for (size_t i = 0; i < ingest::LiveHub::kMaxFollowers; ++i) open.push_back(Ask({}));
  EXPECT_EQ(open.back().status, 200);
  const Response refused = Ask({});
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.refusal, Refusal::kFollowers);
  open.pop_back();
  EXPECT_EQ(Ask({}).status, 200);
}

TEST_F(LiveEventsTest, EndsWithTheCollectorAndIsNotWokenWhenItIsGone) {
  Response response = Ask({});
  bool woken = false;
  response.stream->SetWake([&] { woken = true; });
  Read(*response.stream, BodyStream::Step::kWait);
  hub_.Close();
  EXPECT_TRUE(woken);
  Read(*response.stream, BodyStream::Step::kEnd);
  EXPECT_NE(Ask({}).status, 200);
  woken = false;
  response.stream.reset();
  hub_.PublishEpoch("n", 0, 1);
  EXPECT_FALSE(woken);
}

}  // namespace
}  // namespace telltale::web
