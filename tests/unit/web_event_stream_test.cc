// A log as server-sent events, without a socket.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "collector/web/event_stream.h"
#include "telltale/v1/query.pb.h"

namespace telltale::web {
namespace {

// What it has is large: it gives two at a time, however many are asked for.
EventSource LogOf(int entries) {
  return {.name = "anomaly",
          .now = [] { return std::string("0"); },
          .after = [entries](const std::string& cursor,
                             size_t limit) -> absl::StatusOr<std::vector<StreamEvent>> {
            const int from = std::atoi(cursor.c_str());
            const int to = std::min({entries, from + 2, from + static_cast<int>(limit)});
            std::vector<StreamEvent> events;
            for (int i = from + 1; i <= to; ++i) {
              events.push_back({std::to_string(i), {"n1"}, std::make_shared<v1::Anomaly>()});
            }
            return events;
          },
          .wait = [](std::function<void()>) { return std::unique_ptr<feed::Waiter>(); }};
}

// All it says before it waits.
std::string Told(BodyStream& stream) {
  std::string told;
  for (int i = 0; i < 100; ++i) {
    std::string piece;
    const auto step = stream.Next(piece);
    told += piece;
    if (!step.ok() || *step != BodyStream::Step::kMore) break;
  }
  return told;
}

TEST(EventStreamTest, WhoResumesGetsAllThereIsBeforeItWaits) {
  Request request;
  request.last_event_id = "1";
  const Response response = FollowEvents(LogOf(7))(request);
  ASSERT_NE(response.stream, nullptr) << response.body;
  const std::string told = Told(*response.stream);
  size_t at = 0;
  for (const char* id : {"id: 2\n", "id: 3\n", "id: 4\n", "id: 5\n", "id: 6\n", "id: 7\n"}) {
    at = told.find(id, at);
    ASSERT_NE(at, std::string::npos) << id << told;
  }
  EXPECT_EQ(told.find("event: begin"), std::string::npos);
  EXPECT_EQ(Told(*response.stream), "");
}

TEST(EventStreamTest, OneTooManyIsCountedAsAFollower) {
  EventSource source = LogOf(0);
  feed::Waiters waiters("anomalies", 1);
  source.wait = [&](std::function<void()> wake) { return waiters.Add(std::move(wake)); };
  const Handler handler = FollowEvents(std::move(source));
  const Response first = handler(Request());
  EXPECT_NE(first.stream, nullptr) << first.body;
  const Response refused = handler(Request());
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.refusal, Refusal::kFollowers);
}

TEST(EventStreamTest, WhereNothingCameYetTheFirstAnswerTellsWhereToResume) {
  const Response response = FollowEvents(LogOf(0))(Request());
  ASSERT_NE(response.stream, nullptr) << response.body;
  EXPECT_EQ(Told(*response.stream), "id: 0\nevent: begin\ndata: {}\n\n");
  EXPECT_EQ(Told(*response.stream), "");
}

}  // namespace
}  // namespace telltale::web
