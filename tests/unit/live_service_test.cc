// Who follows what happens now over gRPC: one too many is told and counted.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "collector/ingest/live_service.h"
#include "telltale/v1/live.grpc.pb.h"

namespace telltale::ingest {
namespace {

TEST(LiveServiceTest, OneTooManyIsTurnedAwayAndCounted) {
  IngestStats ingest_stats;
  LiveHub hub(&ingest_stats);
  collector::GrpcStats stats;
  const auto service = MakeLiveService(&hub, &stats, [](const grpc::ServerContextBase&) {
    return feed::Asker{"viewer/ann", {}};
  });
  grpc::ServerBuilder builder;
  builder.RegisterService(service.get());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = v1::LiveFeed::NewStub(server->InProcessChannel({}));
  const auto ask = [&](const v1::SubscribeRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = stub->Subscribe(&context, request);
    v1::LiveNews news;
    EXPECT_FALSE(stream->Read(&news));
    return stream->Finish().error_code();
  };
  const auto turned_away = [&] {
    return stats.refused[static_cast<size_t>(collector::GrpcRefusal::kFollowers)].load();
  };
  v1::SubscribeRequest wrong;
  wrong.add_nodes("");
  EXPECT_EQ(ask(wrong), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(turned_away(), 0u);

  std::vector<std::shared_ptr<LiveFollower>> all;
  while (all.size() < LiveHub::kMaxFollowers) all.push_back(hub.Follow({}, [] {}));
  EXPECT_EQ(ask({}), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(turned_away(), 1u);
  server->Shutdown();
}

}  // namespace
}  // namespace telltale::ingest
