#include "collector/filter/watch_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/grpc_status.h"
#include "collector/query/nearest.h"
#include "storage/keys.h"
#include "telltale/v1/watch.grpc.pb.h"

namespace telltale::filter {
namespace {

constexpr int kMaxLate = 100;
constexpr int kMaxAnomaliesTold = 10'000;

// Half of what is left to who asked: the answer is to come in time without his peers, too.
std::chrono::milliseconds PeerTime(const grpc::ServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  return std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(left / 2),
                    std::chrono::milliseconds(0), incident::kPeerTime);
}

class WatchService final : public v1::Watch::Service {
 public:
  explicit WatchService(WatchServiceOptions options) : options_(std::move(options)) {}

  grpc::Status ListFilters(grpc::ServerContext* context, const v1::ListFiltersRequest*,
                           v1::ListFiltersAnswer* answer) override {
    if (const auto allowed = options_.gate->MayAsk(*context); !allowed.ok()) return ToGrpc(allowed);
    *answer = options_.side->List();
    return grpc::Status::OK;
  }

  grpc::Status RunFilter(grpc::ServerContext* context, const v1::RunFilterRequest* request,
                         v1::RunFilterAnswer* answer) override {
    if (const auto allowed = options_.gate->MayAsk(*context); !allowed.ok()) return ToGrpc(allowed);
    const Turn turn(runs_);
    if (turn.number > options_.max_runs) {
      options_.stats->Refuse(collector::GrpcRefusal::kBusy);
      return ToGrpc(absl::ResourceExhaustedError(absl::StrCat(
          "filter run: ", options_.max_runs, " run already; try again when they are done")));
    }
    const absl::Status done = Run(*context, *request, *answer);
    return Refused(done, collector::GrpcRefusal::kTooLarge);
  }

  grpc::Status ListIncidents(grpc::ServerContext* context, const v1::ListIncidentsRequest* request,
                             v1::ListIncidentsAnswer* answer) override {
    if (const auto allowed = options_.gate->MayAsk(*context); !allowed.ok()) return ToGrpc(allowed);
    auto listed = options_.side->incidents()->List(*request);
    if (!listed.ok()) return Refused(listed.status(), collector::GrpcRefusal::kTooLarge);
    *answer = *std::move(listed);
    if (request->number() != 0 && options_.peers) {
      incident::AddPeers(
          options_.peers, [context] { return context->IsCancelled(); }, PeerTime(*context),
          *answer->mutable_incidents(0));
    }
    if (!options_.alertmanagers) return grpc::Status::OK;
    for (v1::AlertTarget& target : options_.alertmanagers()) {
      *answer->add_alertmanagers() = std::move(target);
    }
    return grpc::Status::OK;
  }

  grpc::Status ChangeIncident(grpc::ServerContext* context,
                              const v1::ChangeIncidentRequest* request,
                              v1::ChangeIncidentAnswer* answer) override {
    constexpr char kAction[] = "incident";
    const auto peer = options_.gate->Operator(*context, kAction);
    if (!peer.ok()) return ToGrpc(peer.status());
    auto changed =
        options_.side->incidents()->Change(*request, access::Who(*peer), options_.now_ns());
    if (!changed.ok()) return Refused(changed.status(), collector::GrpcRefusal::kNoRoom);
    const auto noted = options_.gate->Done(
        *peer, kAction, absl::StrCat(changed->number(), ": ", incident::LastDone(*changed)));
    *answer->mutable_incident() = *std::move(changed);
    return noted.ok() ? grpc::Status::OK : ToGrpc(noted);
  }

 private:
  struct Turn {
    explicit Turn(std::atomic<int>& of) : runs(of), number(++of) {}
    ~Turn() { --runs; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    std::atomic<int>& runs;
    const int number;
  };

  grpc::Status Refused(const absl::Status& status, collector::GrpcRefusal too_much) const {
    options_.stats->CountAnswer(status.code(), too_much);
    return ToGrpc(status);
  }

  absl::Status Run(grpc::ServerContext& context, const v1::RunFilterRequest& request,
                   v1::RunFilterAnswer& answer) {
    const auto selection = options_.resolve(request.selection());
    if (!selection.ok()) return selection.status();
    const uint64_t length_ns = selection->end_ns - selection->start_ns;
    const uint64_t node_days =
        selection->nodes.size() * ((length_ns + storage::kDayNs - 1) / storage::kDayNs);
    if (node_days > options_.max_node_days) {
      return absl::ResourceExhaustedError(
          absl::StrCat("filter run: ", node_days, " days of nodes, limit ", options_.max_node_days,
                       "; choose fewer nodes or a shorter time"));
    }
    for (const storage::NodeRecord& node : selection->nodes) {
      auto replayed =
          options_.side->Run(request.name(), node.number(), selection->start_ns, selection->end_ns,
                             [&context] { return context.IsCancelled(); });
      if (!replayed.ok()) return replayed.status();
      Add(node.name(), *std::move(replayed), answer);
      if (answer.anomalies_size() > kMaxAnomaliesTold) {
        return absl::ResourceExhaustedError(
            absl::StrCat("filter run: more than ", kMaxAnomaliesTold,
                         " anomalies; choose fewer nodes or a shorter time"));
      }
    }
    return absl::OkStatus();
  }

  static void Add(const std::string& node, Replayed replayed, v1::RunFilterAnswer& answer) {
    const auto bytes = [](const std::vector<v1::Anomaly>& list) {
      std::set<std::string> all;
      for (const v1::Anomaly& anomaly : list) all.insert(anomaly.SerializeAsString());
      return all;
    };
    const auto now = bytes(replayed.anomalies), live = bytes(replayed.live);
    const auto only = [](const std::set<std::string>& in, const std::set<std::string>& other) {
      return static_cast<uint32_t>(std::ranges::count_if(
          in, [&](const std::string& anomaly) { return !other.contains(anomaly); }));
    };
    answer.set_new_anomalies(answer.new_anomalies() + only(now, live));
    answer.set_missing_anomalies(answer.missing_anomalies() + only(live, now));
    const double shown_s = static_cast<double>(replayed.shown_ns) / 1e9;
    answer.set_told_later(
        answer.told_later() +
        static_cast<uint32_t>(std::ranges::count_if(replayed.live, [&](const v1::Anomaly& one) {
          return !now.contains(one.SerializeAsString()) && shown_s > 0 &&
                 std::max(one.found_s(), one.end_s()) > shown_s;
        })));
    answer.set_nodes(answer.nodes() + 1);
    answer.set_nodes_resumed(answer.nodes_resumed() + (replayed.resumed ? 1 : 0));
    answer.set_epochs(answer.epochs() + replayed.epochs);
    answer.set_points(answer.points() + replayed.points);
    answer.set_marks(answer.marks() + replayed.marks);
    answer.set_new_points(answer.new_points() + replayed.new_points);
    answer.set_missing_points(answer.missing_points() + replayed.missing_points);
    answer.set_new_marks(answer.new_marks() + replayed.new_marks);
    answer.set_missing_marks(answer.missing_marks() + replayed.missing_marks);
    answer.set_unreadable_epochs(answer.unreadable_epochs() + replayed.unreadable);
    answer.set_late_epochs(answer.late_epochs() + replayed.late_ns.size());
    for (const uint64_t start_ns : replayed.late_ns) {
      if (answer.late_size() == kMaxLate) break;
      v1::LateEpoch& late = *answer.add_late();
      late.set_node(node);
      late.set_start_s(static_cast<double>(start_ns) / 1e9);
    }
    for (v1::Anomaly& anomaly : replayed.anomalies) {
      *answer.add_anomalies() = std::move(anomaly);
    }
  }

  const WatchServiceOptions options_;
  std::atomic<int> runs_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWatchService(WatchServiceOptions options) {
  return std::make_unique<WatchService>(std::move(options));
}

}  // namespace telltale::filter
