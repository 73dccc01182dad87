#include "collector/query/query_service.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/feed/followers.h"
#include "collector/grpc_status.h"
#include "collector/query/worker_pool.h"
#include "telltale/v1/query.grpc.pb.h"

namespace telltale::query {
namespace {

// Writes the parts of a bundle one after the other.
class BundleReactor : public grpc::ServerWriteReactor<v1::BundlePart> {
 public:
  void Begin(std::vector<v1::BundlePart> parts) {
    parts_ = std::move(parts);
    Next();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::CANCELLED);
      return;
    }
    Next();
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (at_ == parts_.size()) {
      Finish(grpc::Status::OK);
      return;
    }
    StartWrite(&parts_[at_++]);
  }
  std::vector<v1::BundlePart> parts_;
  size_t at_ = 0;
};

}  // namespace

class QueryService::Impl final : public v1::Query::CallbackService {
 public:
  explicit Impl(QueryServiceOptions options)
      : options_(std::move(options)),
        followers_({.of = "anomalies",
                    .newest = [engine = options_.engine] { return engine->NewestAnomaly(); },
                    .after = [engine = options_.engine](
                                 const std::string& cursor,
                                 size_t limit) { return engine->AnomaliesAfter(cursor, limit); },
                    .greeting =
                        [](const std::string& cursor) {
                          v1::Anomaly now;
                          now.set_cursor(cursor);
                          return now;
                        },
                    .most = options_.max_followers,
                    .stats = options_.stats}),
        pool_(options_.threads, options_.max_queued) {}

  void Stop() { followers_.Stop(); }

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* GetStatus(Context* context, const v1::StatusRequest* question,
                     v1::StatusAnswer* answer) override {
    return Run(context, question, answer, &Engine::Status);
  }
  Reactor* ListNodes(Context* context, const v1::NodesRequest* question,
                     v1::NodesAnswer* answer) override {
    return Run(context, question, answer, &Engine::Nodes);
  }
  Reactor* ListVitals(Context* context, const v1::VitalsRequest* question,
                      v1::VitalsAnswer* answer) override {
    return Run(context, question, answer, &Engine::Vitals);
  }
  Reactor* GetSeries(Context* context, const v1::SeriesRequest* question,
                     v1::SeriesAnswer* answer) override {
    return Run(context, question, answer, &Engine::Series);
  }
  Reactor* GetTop(Context* context, const v1::TopRequest* question,
                  v1::TopAnswer* answer) override {
    return Run(context, question, answer, &Engine::Top);
  }
  Reactor* ListSamples(Context* context, const v1::SamplesRequest* question,
                       v1::SamplesAnswer* answer) override {
    return Run(context, question, answer, &Engine::Samples);
  }
  Reactor* GetStacks(Context* context, const v1::StacksRequest* question,
                     v1::StacksAnswer* answer) override {
    return Run(context, question, answer, &Engine::Stacks);
  }
  Reactor* GetFlame(Context* context, const v1::FlameRequest* question,
                    v1::FlameAnswer* answer) override {
    return Run(context, question, answer, &Engine::Flame);
  }
  Reactor* GetDiff(Context* context, const v1::DiffRequest* question,
                   v1::DiffAnswer* answer) override {
    return Run(context, question, answer, &Engine::Diff);
  }
  Reactor* GetHistogram(Context* context, const v1::HistogramRequest* question,
                        v1::HistogramAnswer* answer) override {
    return Run(context, question, answer, &Engine::Histogram);
  }
  Reactor* GetCoverage(Context* context, const v1::CoverageRequest* question,
                       v1::CoverageAnswer* answer) override {
    return Run(context, question, answer, &Engine::Coverage);
  }
  Reactor* GetHostLevels(Context* context, const v1::HostLevelsRequest* question,
                         v1::HostLevelsAnswer* answer) override {
    return Run(context, question, answer, &Engine::Host);
  }
  Reactor* ListEvents(Context* context, const v1::EventsRequest* question,
                      v1::EventsAnswer* answer) override {
    return Run(context, question, answer, &Engine::Events);
  }
  Reactor* ListAnomalies(Context* context, const v1::AnomaliesRequest* question,
                         v1::AnomaliesAnswer* answer) override {
    return Run(context, question, answer, &Engine::Anomalies);
  }

  Reactor* GetFilterSeries(Context* context, const v1::FilterSeriesRequest* question,
                           v1::FilterSeriesAnswer* answer) override {
    return Run(context, question, answer, &Engine::FilterSeries);
  }
  Reactor* ListMarks(Context* context, const v1::MarksRequest* question,
                     v1::MarksAnswer* answer) override {
    return Run(context, question, answer, &Engine::Marks);
  }
  Reactor* Investigate(Context* context, const v1::InvestigateRequest* question,
                       v1::InvestigateAnswer* answer) override {
    return Run(context, question, answer, &Engine::Investigate);
  }

  grpc::ServerWriteReactor<v1::Anomaly>* FollowAnomalies(
      Context* context, const v1::FollowRequest* request) override {
    auto asker = options_.authorize(*context);
    if (!asker.ok()) return Refused<v1::Anomaly>(asker.status());
    const auto& nodes = request->selection().nodes();
    return followers_.Begin(
        context, *std::move(asker), request->cursor(),
        [nodes = std::set<std::string>(nodes.begin(), nodes.end())](const v1::Anomaly& anomaly) {
          return nodes.empty() || nodes.contains(anomaly.node());
        });
  }

  grpc::ServerWriteReactor<v1::BundlePart>* GetBundle(Context* context,
                                                      const v1::BundleRequest*) override {
    const auto asker = options_.authorize(*context);
    if (!asker.ok()) return Refused<v1::BundlePart>(asker.status());
    auto* reactor = new BundleReactor;  // deletes itself in OnDone
    const bool taken = pool_.Submit(asker->who, [this, reactor, context] {
      absl::StatusOr<std::vector<v1::BundlePart>> parts =
          options_.engine->Bundle([context] { return context->IsCancelled(); });
      if (parts.ok()) {
        reactor->Begin(*std::move(parts));
      } else {
        reactor->Finish(ToGrpc(parts.status()));
      }
    });
    if (!taken) reactor->Finish(TurnAway());
    return reactor;
  }

 private:
  template <typename Message>
  static grpc::ServerWriteReactor<Message>* Refused(const absl::Status& status) {
    class Reactor final : public grpc::ServerWriteReactor<Message> {
     public:
      explicit Reactor(const grpc::Status& why) { this->Finish(why); }
      void OnDone() override { delete this; }
    };
    return new Reactor(ToGrpc(status));
  }

  grpc::Status TurnAway() const {
    options_.stats->Refuse(collector::GrpcRefusal::kBusy);
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            "query: too many questions wait already (" + std::to_string(options_.max_queued) +
                ", half of them of one asker); ask again in a moment"};
  }

  template <typename Question, typename Answer>
  Reactor* Run(Context* context, const Question* question, Answer* answer,
               absl::StatusOr<Answer> (Engine::*method)(const Question&, const Cancelled&) const) {
    Reactor* reactor = context->DefaultReactor();
    const auto asker = options_.authorize(*context);
    if (!asker.ok()) {
      reactor->Finish(ToGrpc(asker.status()));
      return reactor;
    }
    if (options_.opened) {
      ForEachOpened(*question, [&](const char* what, const v1::Selection& selection) {
        options_.opened(asker->who, context->peer(), what, selection);
      });
    }
    const bool taken = pool_.Submit(asker->who, [=, this] {
      const Cancelled cancelled = [context] { return context->IsCancelled(); };
      absl::StatusOr<Answer> result = std::invoke(method, *options_.engine, *question, cancelled);
      if (result.ok()) {
        answer->Swap(&*result);
        reactor->Finish(grpc::Status::OK);
      } else {
        options_.stats->CountAnswer(result.status().code(), collector::GrpcRefusal::kTooLarge);
        reactor->Finish(ToGrpc(result.status()));
      }
    });
    if (!taken) reactor->Finish(TurnAway());
    return reactor;
  }

  const QueryServiceOptions options_;
  feed::Followers<v1::Anomaly> followers_;
  WorkerPool pool_;  // keep last: its threads use the rest
};

QueryService::QueryService(QueryServiceOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
QueryService::~QueryService() = default;
grpc::Service* QueryService::service() { return impl_.get(); }
void QueryService::Stop() { impl_->Stop(); }

}  // namespace telltale::query
