#include "collector/incident/incident_service.h"

#include <utility>

#include "collector/feed/followers.h"
#include "collector/grpc_status.h"
#include "telltale/v1/incident.grpc.pb.h"

namespace telltale::incident {
namespace {

constexpr char kSilence[] = "silence", kEndSilence[] = "end a silence";

class RefusedFollower final : public grpc::ServerWriteReactor<v1::IncidentNews> {
 public:
  explicit RefusedFollower(const grpc::Status& why) { Finish(why); }
  void OnDone() override { delete this; }
};

}  // namespace

class IncidentService::Impl final : public v1::Incidents::CallbackService {
 public:
  explicit Impl(IncidentServiceOptions options)
      : options_(std::move(options)),
        followers_(
            {.of = "incidents",
             .newest = [book = options_.book] { return book->NowCursor(); },
             .after = [book = options_.book](const std::string& cursor,
                                             size_t limit) { return book->After(cursor, limit); },
             .greeting =
                 [](const std::string& cursor) {
                   v1::IncidentNews now;
                   now.set_cursor(cursor);
                   return now;
                 },
             .most = options_.max_followers,
             .stalled = options_.stalled,
             .stats = options_.stats}) {}

  void Stop() { followers_.Stop(); }

  using Context = grpc::CallbackServerContext;

  grpc::ServerWriteReactor<v1::IncidentNews>* FollowIncidents(
      Context* context, const v1::FollowIncidentsRequest* request) override {
    auto asker = options_.gate->Asks(*context);
    if (!asker.ok()) return new RefusedFollower(ToGrpc(asker.status()));
    return followers_.Begin(context, *std::move(asker), request->cursor(),
                            [](const v1::IncidentNews&) { return true; });
  }

  grpc::ServerUnaryReactor* ListSilences(Context* context, const v1::ListSilencesRequest* request,
                                         v1::ListSilencesAnswer* answer) override {
    return Done(context, [&]() -> absl::Status {
      if (const auto allowed = options_.gate->MayAsk(*context); !allowed.ok()) return allowed;
      *answer = options_.silences->List(request->ended(), options_.now_ns());
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* AddSilence(Context* context, const v1::AddSilenceRequest* request,
                                       v1::AddSilenceAnswer* answer) override {
    return Done(context, [&]() -> absl::Status {
      const auto peer = options_.gate->Operator(*context, kSilence);
      if (!peer.ok()) return peer.status();
      if (auto status = options_.book->CheckSilence(request->incident()); !status.ok()) {
        return status;
      }
      auto added = options_.silences->Add(*request, access::Who(*peer), options_.now_ns());
      if (!added.ok()) return added.status();
      *answer->mutable_silence() = *std::move(added);
      return Changed(*peer, kSilence, answer->silence());
    });
  }

  grpc::ServerUnaryReactor* EndSilence(Context* context, const v1::EndSilenceRequest* request,
                                       v1::EndSilenceAnswer* answer) override {
    return Done(context, [&]() -> absl::Status {
      const auto peer = options_.gate->Operator(*context, kEndSilence);
      if (!peer.ok()) return peer.status();
      auto ended = options_.silences->End(request->id(), access::Who(*peer), options_.now_ns());
      if (!ended.ok()) return ended.status();
      *answer->mutable_silence() = *std::move(ended);
      return Changed(*peer, kEndSilence, answer->silence());
    });
  }

 private:
  template <typename Work>
  grpc::ServerUnaryReactor* Done(Context* context, const Work& work) const {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const absl::Status status = work();
    options_.stats->CountAnswer(status.code(), collector::GrpcRefusal::kNoRoom);
    reactor->Finish(ToGrpc(status));
    return reactor;
  }

  // What it means for the incidents shows with the filters' next look, within a second.
  absl::Status Changed(const collector::Peer& peer, const char* action,
                       const v1::Silence& silence) const {
    return options_.gate->Done(peer, action, Described(silence));
  }

  const IncidentServiceOptions options_;
  feed::Followers<v1::IncidentNews> followers_;  // keep last: its thread uses the rest
};

IncidentService::IncidentService(IncidentServiceOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
IncidentService::~IncidentService() = default;
grpc::Service* IncidentService::service() { return impl_.get(); }
void IncidentService::Stop() { impl_->Stop(); }

}  // namespace telltale::incident
