// Followers over real gRPC: what a slow one costs, and what he is told.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/numbers.h"
#include "collector/feed/followers.h"
#include "telltale/v1/query.grpc.pb.h"
#include "tests/support/program.h"

namespace telltale::feed {
namespace {

using ::testing::HasSubstr;
constexpr uint64_t kItems = 200;
constexpr size_t kItemBytes = 256 << 10;  // more of them than any window of the transport holds

class FeedTest : public ::testing::Test, public v1::Query::CallbackService {
 protected:
  FeedTest()
      : followers_({.of = "items",
                    .newest = [] { return std::string("0"); },
                    .after = [this](const std::string& cursor,
                                    size_t limit) { return After(cursor, limit); },
                    .greeting = {},
                    .most = 2,
                    .stalled = std::chrono::milliseconds(1'000),
                    .lingers = std::chrono::milliseconds(5'000),
                    .stats = &stats_}) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    stub_ = v1::Query::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port_),
                                                   grpc::InsecureChannelCredentials()));
  }
  ~FeedTest() override {
    followers_.Stop();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  }

  grpc::ServerWriteReactor<v1::Anomaly>* FollowAnomalies(
      grpc::CallbackServerContext* context, const v1::FollowRequest* request) override {
    return followers_.Begin(
        context,
        {"viewer/ann",
         [this] { return revoked_ ? absl::UnauthenticatedError("is revoked") : absl::OkStatus(); }},
        request->cursor(), [](const v1::Anomaly&) { return true; });
  }

  absl::StatusOr<std::vector<v1::Anomaly>> After(const std::string& cursor, size_t limit) {
    uint64_t after = 0;
    if (!absl::SimpleAtoi(cursor, &after)) return absl::InvalidArgumentError("no cursor");
    std::vector<v1::Anomaly> items;
    for (uint64_t i = after + 1; i <= kItems && items.size() < limit; ++i) {
      v1::Anomaly& item = items.emplace_back();
      item.set_cursor(std::to_string(i));
      item.set_text(std::string(kItemBytes, 'x'));
      fetched_ = std::max(fetched_.load(), i);
    }
    return items;
  }

  // Reads from the cursor on until the stream ends or all came; the cursors.
  std::vector<std::string> Read(const std::string& from, grpc::Status* ended) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::FollowRequest request;
    request.set_cursor(from);
    const auto stream = stub_->FollowAnomalies(&context, request);
    std::vector<std::string> cursors;
    v1::Anomaly item;
    while (stream->Read(&item)) {
      cursors.push_back(item.cursor());
      if (item.cursor() == std::to_string(kItems)) context.TryCancel();
    }
    *ended = stream->Finish();
    return cursors;
  }

  uint64_t Refused(collector::GrpcRefusal why) const {
    return stats_.refused[static_cast<size_t>(why)];
  }

  std::atomic<uint64_t> fetched_{0};
  std::atomic<bool> revoked_{false};
  collector::GrpcStats stats_;
  Followers<v1::Anomaly> followers_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Query::Stub> stub_;
};

TEST_F(FeedTest, AReaderGetsAllInOrderFromHisCursorOn) {
  grpc::Status ended;
  const auto cursors = Read("150", &ended);
  ASSERT_EQ(cursors.size(), 50u);
  EXPECT_EQ(cursors.front(), "151");
  EXPECT_EQ(cursors.back(), "200");
}

TEST_F(FeedTest, WhoseCertificateIsRevokedMeanwhileIsCut) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::FollowRequest request;
  request.set_cursor("190");
  const auto stream = stub_->FollowAnomalies(&context, request);
  v1::Anomaly item;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(stream->Read(&item));  // all there is so far
  revoked_ = true;
  EXPECT_FALSE(stream->Read(&item));
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAUTHENTICATED) << ended.error_message();
}

TEST_F(FeedTest, WhoReadsNothingIsCutToldHowToGoOnAndLosesNothing) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::FollowRequest request;
  request.set_cursor("0");
  const auto stream = stub_->FollowAnomalies(&context, request);
  v1::Anomaly item;
  ASSERT_TRUE(stream->Read(&item));
  // Another reader is not kept waiting by him, and he costs one batch.
  grpc::Status other;
  EXPECT_EQ(Read("190", &other).size(), 10u);
  ASSERT_TRUE(testing::Await([&] { return Refused(collector::GrpcRefusal::kStalled) == 1; }));
  std::vector<std::string> got = {item.cursor()};
  while (stream->Read(&item)) got.push_back(item.cursor());
  const grpc::Status ended = stream->Finish();
  ASSERT_EQ(ended.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << ended.error_message();
  EXPECT_THAT(ended.error_message(), HasSubstr("nothing was read"));
  ASSERT_LT(got.size(), kItems);
  // From the last one he has, he goes on; nothing is missing or comes twice.
  const auto rest = Read(got.back(), &other);
  got.insert(got.end(), rest.begin(), rest.end());
  ASSERT_EQ(got.size(), kItems);
  for (uint64_t i = 0; i < kItems; ++i) EXPECT_EQ(got[i], std::to_string(i + 1));
}

TEST_F(FeedTest, WhoNeverReadsOnKeepsNoPlace) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::Anomaly>>> streams;
  for (int i = 0; i < 2; ++i) {
    v1::FollowRequest request;
    request.set_cursor("0");
    streams.push_back(
        stub_->FollowAnomalies(contexts.emplace_back(new grpc::ClientContext).get(), request));
  }
  ASSERT_TRUE(testing::Await([&] { return Refused(collector::GrpcRefusal::kStalled) == 2; }));
  grpc::Status ended;
  EXPECT_TRUE(testing::Await([&] { return Read("190", &ended).size() == 10; }))
      << ended.error_message();
  for (const auto& stream : streams) {
    v1::Anomaly item;
    while (stream->Read(&item)) {
    }
    EXPECT_FALSE(stream->Finish().ok());
  }
}

TEST_F(FeedTest, OneTooManyIsRefused) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::Anomaly>>> streams;
  for (int i = 0; i < 2; ++i) {
    v1::FollowRequest request;
    request.set_cursor("0");
    streams.push_back(
        stub_->FollowAnomalies(contexts.emplace_back(new grpc::ClientContext).get(), request));
    v1::Anomaly item;
    ASSERT_TRUE(streams.back()->Read(&item));
  }
  grpc::Status third;
  EXPECT_TRUE(Read("0", &third).empty());
  EXPECT_EQ(third.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(third.error_message(), HasSubstr("2 follow already"));
  EXPECT_EQ(Refused(collector::GrpcRefusal::kFollowers), 1u);
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& stream : streams) {
    v1::Anomaly item;
    while (stream->Read(&item)) {
    }
    (void)stream->Finish();
  }
}

}  // namespace
}  // namespace telltale::feed
