// The gRPC edge of the engine.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collector/query/query_service.h"
#include "collector/query/worker_pool.h"
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

// A log in which an anomaly comes when it is told to.
class OneAnomaly : public AnomalySource {
 public:
  absl::StatusOr<v1::AnomaliesAnswer> List(const v1::AnomaliesRequest&, const Selection&,
                                           const Cancelled&) const override {
    return v1::AnomaliesAnswer();
  }
  absl::StatusOr<std::vector<v1::Anomaly>> After(const std::string& cursor, size_t) const override {
    std::vector<v1::Anomaly> found;
    if (cursor != Newest() || !found_) return found;
    found.emplace_back().set_filter("ewma");
    found.back().set_cursor("8");
    return found;
  }
  std::string Newest() const override { return "7"; }
  absl::StatusOr<v1::FilterSeriesAnswer> Series(const v1::FilterSeriesRequest&, const Selection&,
                                                const Cancelled&) const override {
    return v1::FilterSeriesAnswer();
  }
  void Find() { found_ = true; }

 private:
  std::atomic<bool> found_ = false;
};

TEST(QueryServiceTest, WhoIsCutBeforeTheFirstAnomalyGoesOnWhereHeBegan) {
  FakeSource source;
  OneAnomaly anomalies;
  EngineOptions engine_options;
  engine_options.source = &source;
  engine_options.anomalies = &anomalies;
  engine_options.now_ns = [] { return 1000 * kS; };
  const Engine engine(engine_options);
  QueryServiceOptions options;
  options.engine = &engine;
  options.authorize = [](const grpc::ServerContextBase&) { return feed::Asker{"viewer/ann", {}}; };
  QueryService service(options);
  grpc::ServerBuilder builder;
  builder.RegisterService(service.service());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = v1::Query::NewStub(server->InProcessChannel({}));
  v1::FollowRequest request;
  const auto first = [&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = stub->FollowAnomalies(&context, request);
    v1::Anomaly anomaly;
    EXPECT_TRUE(stream->Read(&anomaly));
    context.TryCancel();
    v1::Anomaly ignored;
    while (stream->Read(&ignored)) {
    }
    (void)stream->Finish();
    return anomaly;
  };
  const v1::Anomaly greeting = first();
  EXPECT_EQ(greeting.filter(), "");
  EXPECT_EQ(greeting.cursor(), "7");
  anomalies.Find();  // meanwhile
  request.set_cursor(greeting.cursor());
  EXPECT_EQ(first().filter(), "ewma");
  service.Stop();
  server->Shutdown();
}

TEST(QueryServiceTest, ACancelledCallEndsTheWorkOnItsAnswer) {
  EndlessSource source;
  source.AddNode("a");
  const Engine engine = MakeEngine(source, 1040);
  QueryServiceOptions options;
  options.engine = &engine;
  options.authorize = [](const grpc::ServerContextBase&) { return feed::Asker{"viewer/ann", {}}; };
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

TEST(WorkerPoolTest, WhoAsksMuchWaitsBehindHimself) {
  std::mutex mutex;
  std::condition_variable changed;
  bool go_on = false;
  int running = 0;
  WorkerPool pool(2, 8);
  const auto slow = [&] {
    std::unique_lock lock(mutex);
    ++running;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
  };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pool.Submit("viewer/greedy", slow));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return running > 0; });
  lock.unlock();
  // One of his runs; of what waits, half of the queue may be his.
  int taken = 3;
  while (pool.Submit("viewer/greedy", slow)) ++taken;
  EXPECT_EQ(taken, 4);
  bool answered = false;
  EXPECT_TRUE(pool.Submit("viewer/ann", [&] {
    const std::lock_guard hold(mutex);
    answered = true;
    changed.notify_all();
  }));
  lock.lock();
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return answered; }));
  EXPECT_EQ(running, 1);
  go_on = true;
  changed.notify_all();
}

}  // namespace
}  // namespace telltale::query
