// The gRPC edge of the engine.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "collector/query/query_service.h"
#include "telltale/v1/query.grpc.pb.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

// A node with one epoch after another until the visitor has enough of them.
class EndlessSource : public FakeSource {
 public:
  absl::Status ForEachEpoch(uint32_t node, uint64_t from, uint64_t, const proto::BodyParts&,
                            const EpochVisitor& visit, LeftOut*) const override {
    const v1::SummaryBody body;
    StoredEpoch epoch;
    epoch.node = node;
    epoch.span = {from, from + kS, kS, false};
    epoch.body = &body;
    epoch.schema = Schema(0);
    Tell(began_);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < patience) {
      if (!visit(epoch)) {
        Tell(stopped_);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    Tell(ended_);
    return absl::OkStatus();
  }
  void AwaitBegin() const { Await(began_); }
  bool AwaitStopped() const {
    Await(ended_);
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

 private:
  void Tell(bool& flag) const {
    const std::lock_guard lock(mutex_);
    flag = true;
    changed_.notify_all();
  }
  void Await(const bool& flag) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return flag; });
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool began_ = false, stopped_ = false, ended_ = false;  // guarded by mutex_
};

TEST(QueryServiceTest, ACancelledCallEndsTheWorkOnItsAnswer) {
  EndlessSource source;
  source.AddNode("a");
  const Engine engine = MakeEngine(source, 1040);
  QueryServiceOptions options;
  options.engine = &engine;
  options.authorize = [](const grpc::ServerContextBase&) { return absl::OkStatus(); };
  QueryService service(options);
  grpc::ServerBuilder builder;
  builder.RegisterService(service.service());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = v1::Query::NewStub(server->InProcessChannel({}));
  grpc::ClientContext context;
  std::thread asker([&] {
    auto request = Asked<v1::TopRequest>(1000, 1030);
    request.set_vital("cpu");
    v1::TopAnswer answer;
    EXPECT_EQ(stub->GetTop(&context, request, &answer).error_code(), grpc::StatusCode::CANCELLED);
  });
  source.AwaitBegin();
  context.TryCancel();
  EXPECT_TRUE(source.AwaitStopped());
  asker.join();
  service.Stop();
  server->Shutdown();
}

}  // namespace
}  // namespace telltale::query
