#include "collector/ingest/operate_service.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/grpc_status.h"
#include "telltale/v1/operate.grpc.pb.h"

namespace telltale::ingest {
namespace {

constexpr const char* kKeep = "decide for an agent";
constexpr const char* kNote = "note";
constexpr const char* kRemoveNote = "remove a note";

class OperateService final : public v1::Operate::CallbackService {
 public:
  explicit OperateService(const OperateServiceOptions& options) : options_(options) {}

  grpc::ServerUnaryReactor* KeepAgent(grpc::CallbackServerContext* context,
                                      const v1::KeepRequest* request,
                                      v1::KeepAnswer* answer) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const auto peer = options_.gate->Operator(*context, kKeep);
    if (!peer.ok()) {
      reactor->Finish(ToGrpc(peer.status()));
      return reactor;
    }
    options_.core->Keep({.node = request->node(), .agent = request->agent(), .by = peer->name},
                        [this, reactor, answer, peer = *peer,
                         node = request->node()](const absl::StatusOr<v1::KeepAnswer>& kept) {
                          if (kept.ok()) *answer = *kept;
                          const absl::Status noted =
                              kept.ok() ? Audit(peer, node, *kept) : kept.status();
                          reactor->Finish(noted.ok() ? grpc::Status::OK : ToGrpc(noted));
                        });
    return reactor;
  }

  grpc::ServerUnaryReactor* AddMark(grpc::CallbackServerContext* context,
                                    const v1::AddMarkRequest* request,
                                    v1::AddMarkAnswer* answer) override {
    return Ordered(context, kNote, [&](const collector::Peer& peer) -> absl::Status {
      auto added = options_.marks->Add(*request, peer.name);
      if (!added.ok()) return added.status();
      *answer = *std::move(added);
      std::string detail = Described(answer->mark());
      if (answer->has_dropped()) {
        absl::StrAppend(&detail, "; dropped ", Described(answer->dropped()));
      }
      return options_.gate->Done(peer, kNote, detail);
    });
  }

  grpc::ServerUnaryReactor* RemoveMark(grpc::CallbackServerContext* context,
                                       const v1::RemoveMarkRequest* request,
                                       v1::RemoveMarkAnswer* answer) override {
    return Ordered(context, kRemoveNote, [&](const collector::Peer& peer) -> absl::Status {
      auto removed = options_.marks->Remove(request->id());
      if (!removed.ok()) return removed.status();
      *answer->mutable_mark() = *std::move(removed);
      return options_.gate->Done(peer, kRemoveNote, Described(answer->mark()));
    });
  }

 private:
  static std::string Described(const v1::Mark& mark) {
    return absl::StrCat(mark.id(), mark.node().empty() ? "" : " on ", mark.node(), ": ",
                        mark.text());
  }

  // An order that is carried out at once.
  grpc::ServerUnaryReactor* Ordered(
      grpc::CallbackServerContext* context, const char* action,
      const std::function<absl::Status(const collector::Peer&)>& carry_out) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const auto peer = options_.gate->Operator(*context, action);
    const absl::Status done = peer.ok() ? carry_out(*peer) : peer.status();
    reactor->Finish(done.ok() ? grpc::Status::OK : ToGrpc(done));
    return reactor;
  }

  absl::Status Audit(const collector::Peer& peer, const std::string& node,
                     const v1::KeepAnswer& kept) {
    if (!kept.changed()) return absl::OkStatus();
    return options_.gate->Done(peer, kKeep, absl::StrCat("node ", node, ": kept ", kept.kept()));
  }

  const OperateServiceOptions options_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeOperateService(const OperateServiceOptions& options) {
  return std::make_unique<OperateService>(options);
}

}  // namespace telltale::ingest
