#include "collector/web/incident_api.h"

#include "absl/strings/str_cat.h"

namespace telltale::web {
namespace {

std::string Who(const CallContext& call) {
  return absl::StrCat(collector::RoleName(call.peer.role), "/", call.peer.name);
}

bool MayChange(const CallContext& call) { return call.peer.role == collector::Role::kOperator; }

absl::Status MayOrder(const IncidentApi& api, const CallContext& call, const char* action) {
  if (MayChange(call)) return absl::OkStatus();
  const auto refused = absl::PermissionDeniedError(
      absl::StrCat(Who(call), " may only read; an operator's certificate may do this"));
  (void)api.audit(Who(call), call.address, action, "", refused);
  return refused;
}

}  // namespace

void AddIncidents(const IncidentApi& api, ApiTable& table) {
  table.Add<v1::ListIncidentsRequest, v1::ListIncidentsAnswer>(
      "incidents",
      [api](const v1::ListIncidentsRequest& question,
            const CallContext& call) -> absl::StatusOr<v1::ListIncidentsAnswer> {
        auto answer = api.book->List(question);
        if (!answer.ok()) return answer;
        answer->set_asker(Who(call));
        answer->set_may_change(MayChange(call));
        if (question.number() != 0 && api.peers) {
          const auto cancelled = [&call] { return call.cancelled && *call.cancelled; };
          incident::AddPeers(api.peers, cancelled, incident::kPeerTime,
                             *answer->mutable_incidents(0));
        }
        if (!api.alertmanagers) return answer;
        for (v1::AlertTarget& target : api.alertmanagers()) {
          *answer->add_alertmanagers() = std::move(target);
        }
        return answer;
      });
  table.Add<v1::ListSilencesRequest, v1::ListSilencesAnswer>(
      "silences",
      [api](const v1::ListSilencesRequest& question,
            const CallContext&) -> absl::StatusOr<v1::ListSilencesAnswer> {
        return api.silences->List(question.ended(), api.now_ns());
      });
  table.AddOrder<v1::ChangeIncidentRequest, v1::ChangeIncidentAnswer>(
      "incidents/change",
      [api](const v1::ChangeIncidentRequest& order,
            const CallContext& call) -> absl::StatusOr<v1::ChangeIncidentAnswer> {
        constexpr char kAction[] = "incident";
        if (auto status = MayOrder(api, call, kAction); !status.ok()) return status;
        auto changed = api.book->Change(order, Who(call), api.now_ns());
        if (!changed.ok()) return changed.status();
        const auto noted =
            api.audit(Who(call), call.address, kAction,
                      absl::StrCat(changed->number(), ": ", incident::LastDone(*changed)), {});
        if (!noted.ok()) return noted;
        v1::ChangeIncidentAnswer answer;
        *answer.mutable_incident() = *std::move(changed);
        return answer;
      });
  table.AddOrder<v1::AddSilenceRequest, v1::AddSilenceAnswer>(
      "silences/add",
      [api](const v1::AddSilenceRequest& order,
            const CallContext& call) -> absl::StatusOr<v1::AddSilenceAnswer> {
        constexpr char kAction[] = "silence";
        if (auto status = MayOrder(api, call, kAction); !status.ok()) return status;
        if (auto status = api.book->CheckSilence(order.incident()); !status.ok()) return status;
        auto added = api.silences->Add(order, Who(call), api.now_ns());
        if (!added.ok()) return added.status();
        const auto noted =
            api.audit(Who(call), call.address, kAction, incident::Described(*added), {});
        if (!noted.ok()) return noted;
        v1::AddSilenceAnswer answer;
        *answer.mutable_silence() = *std::move(added);
        return answer;
      });
  table.AddOrder<v1::EndSilenceRequest, v1::EndSilenceAnswer>(
      "silences/end",
      [api](const v1::EndSilenceRequest& order,
            const CallContext& call) -> absl::StatusOr<v1::EndSilenceAnswer> {
        constexpr char kAction[] = "end a silence";
        if (auto status = MayOrder(api, call, kAction); !status.ok()) return status;
        auto ended = api.silences->End(order.id(), Who(call), api.now_ns());
        if (!ended.ok()) return ended.status();
        const auto noted =
            api.audit(Who(call), call.address, kAction, incident::Described(*ended), {});
        if (!noted.ok()) return noted;
        v1::EndSilenceAnswer answer;
        *answer.mutable_silence() = *std::move(ended);
        return answer;
      });
}

}  // namespace telltale::web
