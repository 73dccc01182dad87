// Streams and nodes of a shard: greetings, ends, states. A part of class Shard.

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/ingest/shard.h"
#include "proto/codec.h"
#include "spdlog/spdlog.h"

namespace telltale::ingest {
namespace {

constexpr uint32_t kProtocol = 1;
constexpr size_t kNameBytes = 64;

absl::Status CheckGreeting(const v1::Hello& hello, const std::string& node_name) {
  if (hello.protocol() != kProtocol) {
    return absl::FailedPreconditionError(absl::StrCat("hello: protocol ", hello.protocol(),
                                                      " is not spoken here, must be ", kProtocol,
                                                      "; update the older of agent and collector"));
  }
  if (absl::Status status = proto::CheckHello(hello); !status.ok()) return status;
  if (absl::Status status = proto::CheckNodeInfo(hello.node_info()); !status.ok()) return status;
  if (hello.node_info().node() != node_name) {
    return absl::PermissionDeniedError(absl::StrCat(
        "hello: node ", proto::SanitizeText(hello.node_info().node(), kNameBytes),
        ", but the certificate is for ", node_name, "; a node speaks only for itself"));
  }
  return absl::OkStatus();
}

}  // namespace

void Shard::HandleHello(const InboxItem& item) {
  Session& session = *item.session;
  const v1::Hello& hello = item.message.hello();
  if (absl::Status status = CheckGreeting(hello, session.node_name()); !status.ok()) {
    const Count count = absl::IsFailedPrecondition(status) ? Count::kStreamProtocol
                        : absl::IsPermissionDenied(status) ? Count::kStreamWrongNode
                                                           : Count::kStreamBadHello;
    // Whoever holds this certificate did it; a node that never was here stays unknown.
    if (const NodeEntry* known = nodes_.Find(session.node_name()); known != nullptr) {
      Remark(known->number, v1::REMARK_KIND_REFUSED, std::string(status.message()));
    }
    Refuse(session, count, status);
    return;
  }
  const auto obtained = nodes_.Obtain(session.node_name());
  if (!obtained.ok()) {
    Refuse(session, Count::kStreamNodeLimit, obtained.status());
    return;
  }
  NodeEntry& entry = **obtained;
  if (entry.streams.size() >= context_.options.max_streams_per_node) {
    Refuse(session, Count::kStreamNodeLimit,
           absl::ResourceExhaustedError(absl::StrCat(
               "stream: node ", entry.name, " has ", entry.streams.size(),
               " open streams already, at most ", context_.options.max_streams_per_node)));
    return;
  }
  if (absl::Status status = MayGreet(entry, session, hello); !status.ok()) {
    Refuse(session, Count::kStreamDecidedAgainst, status);
    return;
  }
  StreamState& stream = session.stream;
  stream.greeted = true;
  stream.node = entry.number;
  stream.info = hello.node_info();
  std::memcpy(stream.incarnation.data(), hello.incarnation().data(), stream.incarnation.size());
  entry.streams[session.id()] = item.session;
  if (hello.node_info().epoch_length_s() > 0) {
    entry.epoch_length_s = hello.node_info().epoch_length_s();
  }
  const auto replaced = entry.clones.Add({.id = session.id(),
                                          .incarnation = stream.incarnation,
                                          .fingerprint = hello.node_info().machine_fingerprint(),
                                          .begun_mono_ns = item.received_mono_ns});
  for (const uint64_t id : replaced) {
    const auto old = entry.streams.find(id);
    if (old == entry.streams.end()) continue;
    const std::shared_ptr<Session> superseded = old->second;
    Refuse(*superseded, Count::kStreamSuperseded,
           absl::AbortedError("stream: the agent opened a newer one, which takes its place"));
  }
  Heard(entry);
  if (!entry.clones.Contested(session.id())) Adopt(entry, session);
  Welcome(session);
}

void Shard::Welcome(Session& session) {
  v1::CollectorMessage message;
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_store_id(context_.store->StoreId());
  welcome.set_collector_version(context_.options.version);
  welcome.set_received_through(
      context_.store->ReceivedThrough(session.stream.node, session.stream.incarnation));
  *welcome.mutable_settings() = context_.settings->ForAgents();
  session.Send(std::move(message));
}

void Shard::HandleClosed(Session& session) {
  streams_.erase(session.id());
  if (!session.stream.open) return;
  session.stream.open = false;
  NodeEntry* entry = nodes_.Find(session.node_name());
  if (entry == nullptr || !session.stream.greeted) return;
  entry->streams.erase(session.id());
  std::vector<uint64_t> waiting;
  for (const auto& [id, other] : entry->streams) {
    if (entry->clones.Contested(id)) waiting.push_back(id);
  }
  entry->clones.Remove(session.id());
  for (const uint64_t id : waiting) {
    if (!entry->clones.Contested(id)) Adopt(*entry, *entry->streams[id]);
  }
}

void Shard::Refuse(Session& session, Count count, const absl::Status& status) {
  context_.stats->Add(count);
  if (count != Count::kStreamSuperseded) {
    spdlog::warn("ingest: stream of {} ({}) closed: {}", session.node_name(),
                 session.peer().address, std::string(status.message()));
  }
  session.Close(status);
  HandleClosed(session);
}

void Shard::HandleNodeInfo(const InboxItem& item) {
  StreamState& stream = item.session->stream;
  const v1::NodeInfo& info = item.message.node_info();
  absl::Status status = proto::CheckNodeInfo(info);
  if (status.ok() && info.node() != item.session->node_name()) {
    status = absl::PermissionDeniedError("node info: names another node than the certificate");
  }
  if (!status.ok()) {
    context_.stats->Add(Count::kStreamBadMessage);
    Remark(stream.node, v1::REMARK_KIND_REFUSED, std::string(status.message()));
    return;
  }
  stream.info = info;
  if (NodeEntry* entry = nodes_.Find(item.session->node_name());
      entry != nullptr && info.epoch_length_s() > 0) {
    entry->epoch_length_s = info.epoch_length_s();
  }
  if (!stream.counted) return;  // what the node is, is not for it to say
  status = context_.store->UpdateNode(
      stream.node, storage::Durability::kBuffered,
      [&](storage::NodeRecord& record) { *record.mutable_info() = info; });
  if (!status.ok()) context_.stats->Add(Count::kRetryStorageError);
}

void Shard::HandleGoodbye(const InboxItem& item) {
  NodeEntry* entry = nodes_.Find(item.session->node_name());
  // Of a machine set apart, or of one of which it is not known yet: the node itself goes on.
  if (!item.session->stream.counted || entry->clones.Contested(item.session->id())) return;
  const v1::Goodbye& goodbye = item.message.goodbye();
  const absl::Status status = context_.store->RecordStop(
      entry->number, {.time_ns = context_.clock->UnixNs(), .reason = goodbye.reason()});
  if (!status.ok()) {
    context_.stats->Add(Count::kRetryStorageError);
    return;
  }
  if (entry->state != v1::NODE_STATE_CLONE_CONFLICT) entry->state = v1::NODE_STATE_STOPPED;
}

void Shard::Heard(NodeEntry& entry) {
  entry.heard_mono_ns = context_.clock->MonoNs();
  if (entry.state == v1::NODE_STATE_REPORTING || entry.state == v1::NODE_STATE_CLONE_CONFLICT) {
    return;
  }
  SetState(entry, v1::NODE_STATE_REPORTING, context_.clock->UnixNs());
}

void Shard::SetState(NodeEntry& entry, v1::NodeState state, uint64_t since_unix_ns) {
  entry.state = state;
  const absl::Status status = context_.store->UpdateNode(
      entry.number, storage::Durability::kBuffered, [&](storage::NodeRecord& record) {
        record.set_state(state);
        record.set_state_since_ns(since_unix_ns);
      });
  if (!status.ok()) {
    spdlog::error("ingest: node {}: its state could not be written: {}", entry.name,
                  std::string(status.message()));
  }
}

void Shard::Remark(uint32_t node, v1::RemarkKind kind, const std::string& text) {
  const uint64_t now = context_.clock->UnixNs();
  const absl::Status status = context_.store->UpdateNode(
      node, storage::Durability::kBuffered, [&](storage::NodeRecord& record) {
        storage::NodeRegistry::AddRemark(record, kind, text, now);
      });
  if (!status.ok()) {
    spdlog::error("ingest: a remark on node {} could not be written: {}", node,
                  std::string(status.message()));
  }
}

}  // namespace telltale::ingest
