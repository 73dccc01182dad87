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

// A service over a source, and who asks it.
class Asking {
 public:
  Asking(const Engine* engine, QueryServiceOptions options) : service_(With(engine, options)) {
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.service());
    server_ = builder.BuildAndStart();
    stub_ = v1::Query::NewStub(server_->InProcessChannel({}));
  }
  ~Asking() {
    service_.Stop();
    server_->Shutdown();
  }
  v1::Query::Stub& stub() { return *stub_; }
  uint64_t Refused(collector::GrpcRefusal why) const {
    return stats_.refused[static_cast<size_t>(why)];
  }

 private:
  QueryServiceOptions With(const Engine* engine, QueryServiceOptions options) {
    options.engine = engine;
    options.authorize = [](const grpc::ServerContextBase&) {
      return feed::Asker{"viewer/ann", {}};
    };
    options.stats = &stats_;
    return options;
  }

  collector::GrpcStats stats_;
  QueryService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Query::Stub> stub_;
};

TEST(QueryServiceTest, WhoIsCutBeforeTheFirstAnomalyGoesOnWhereHeBegan) {
  FakeSource source;
  OneAnomaly anomalies;
  EngineOptions engine_options;
  engine_options.source = &source;
  engine_options.anomalies = &anomalies;
  engine_options.now_ns = [] { return 1000 * kS; };
  const Engine engine(engine_options);
  Asking asking(&engine, {});
  v1::FollowRequest request;
  const auto first = [&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = asking.stub().FollowAnomalies(&context, request);
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
}

TEST(QueryServiceTest, ACancelledCallEndsTheWorkOnItsAnswer) {
  EndlessSource source;
  source.AddNode("a");
  const Engine engine = MakeEngine(source, 1040);
  Asking asking(&engine, {});
  grpc::ClientContext context;
  std::thread asker([&] {
    auto request = Asked<v1::TopRequest>(1000, 1030);
    request.set_vital("cpu");
    v1::TopAnswer answer;
    EXPECT_EQ(asking.stub().GetTop(&context, request, &answer).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  source.AwaitBegin();
  context.TryCancel();
  EXPECT_TRUE(source.AwaitStopped());
  asker.join();
}

TEST(QueryServiceTest, AQuestionWhileTooManyWaitIsTurnedAwayAndCounted) {
  EndlessSource source;
  source.AddNode("a");
  const Engine engine = MakeEngine(source, 1040);
  Asking asking(&engine, {.threads = 1, .max_queued = 2});  // one of which is another asker's
  struct Call {
    grpc::ClientContext context;
    grpc::Status status;
    std::thread thread;
  };
  std::vector<std::unique_ptr<Call>> calls;
  std::atomic<int> busy = 0;
  const auto ask = [&] {
    Call& call = *calls.emplace_back(std::make_unique<Call>());
    call.thread = std::thread([&asking, &busy, &call] {
      auto request = Asked<v1::TopRequest>(1000, 1030);
      request.set_vital("cpu");
      v1::TopAnswer answer;
      call.status = asking.stub().GetTop(&call.context, request, &answer);
      if (call.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) ++busy;
    });
  };
  ask();
  source.AwaitBegin();
  ask();
  ask();  // whichever of the two comes second
  for (int look = 0; look < 3'000 && busy == 0; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(busy, 1);
  EXPECT_EQ(asking.Refused(collector::GrpcRefusal::kBusy), 1u);
  EXPECT_EQ(asking.Refused(collector::GrpcRefusal::kTooLarge), 0u);
  for (const auto& call : calls) call->context.TryCancel();
  for (const auto& call : calls) call->thread.join();
}

TEST(QueryServiceTest, AQuestionThatIsTooLargeIsCountedAsSuch) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.Node(node).set_first_epoch_ns(1 * kS);
  source.Node(node).set_last_epoch_ns(10'000'000 * kS);  // a million epochs
  const Engine engine = MakeEngine(source, 10'000'000);
  Asking asking(&engine, {});
  grpc::ClientContext context;
  v1::HostLevelsAnswer answer;
  const grpc::Status status =
      asking.stub().GetHostLevels(&context, Asked<v1::HostLevelsRequest>(1000, 9'000'000), &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_EQ(asking.Refused(collector::GrpcRefusal::kTooLarge), 1u);
  EXPECT_EQ(asking.Refused(collector::GrpcRefusal::kBusy), 0u);
}

TEST(QueryServiceTest, AQuestionThatSaysSomethingImpossibleIsCountedAsSuch) {
  FakeSource source;
  source.AddNode("a");
  const Engine engine = MakeEngine(source, 10'000'000);
  Asking asking(&engine, {});
  grpc::ClientContext context;
  v1::TopAnswer answer;
  auto request = Asked<v1::TopRequest>(1000, 1030);
  request.set_vital("cpu");
  request.set_limit(1'000'000);
  const grpc::Status status = asking.stub().GetTop(&context, request, &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(asking.Refused(collector::GrpcRefusal::kParameter), 1u);
  EXPECT_EQ(asking.Refused(collector::GrpcRefusal::kTooLarge), 0u);
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
