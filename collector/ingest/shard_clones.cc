// Which incarnation may speak as a node: clones, reinstalled agents, an operator's decision. A part
// of class Shard.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/ingest/shard.h"
#include "proto/codec.h"
#include "spdlog/spdlog.h"

namespace telltale::ingest {
namespace {

std::string BytesOf(const storage::Incarnation& incarnation) {
  return std::string(incarnation.begin(), incarnation.end());
}

bool Contains(const std::vector<storage::Incarnation>& all, const storage::Incarnation& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

v1::KnownIncarnation* Find(storage::NodeRecord& record, const std::string& id) {
  for (v1::KnownIncarnation& known : *record.mutable_incarnations()) {
    if (known.id() == id) return &known;
  }
  return nullptr;
}

// "1a2b3c4d (ipv4:10.0.0.7:51234)", for the log.
std::string Speakers(const NodeEntry& entry,
                     const std::vector<storage::Incarnation>& incarnations) {
  std::vector<std::string> names;
  for (const auto& [id, session] : entry.streams) {
    if (!Contains(incarnations, session->stream.incarnation)) continue;
    names.push_back(absl::StrCat(ShortId(BytesOf(session->stream.incarnation)), " (",
                                 session->peer().address, ")"));
  }
  return absl::StrJoin(names, ", ");
}

std::string ShortIds(const std::vector<storage::Incarnation>& incarnations) {
  return absl::StrJoin(incarnations, " and ", [](std::string* out, const auto& incarnation) {
    absl::StrAppend(out, ShortId(BytesOf(incarnation)));
  });
}

}  // namespace

absl::Status Shard::MayGreet(const NodeEntry& entry, const Session& session,
                             const v1::Hello& hello) {
  const auto record = context_.store->Find(entry.number);
  if (!record) return absl::OkStatus();
  const v1::NodeInfo& info = hello.node_info();
  absl::Status allowed = MaySpeak(*record, hello.incarnation(), info.machine_fingerprint());
  if (allowed.ok()) return allowed;
  const uint64_t now = context_.clock->UnixNs();
  const absl::Status noted = context_.store->UpdateNode(
      entry.number, storage::Durability::kBuffered, [&](storage::NodeRecord& changed) {
        v1::KnownIncarnation* known = Find(changed, hello.incarnation());
        if (known == nullptr) return;
        known->set_last_seen_ns(now);
        NoteMachine(*known, info, session.peer().address, now);
      });
  if (!noted.ok()) {
    spdlog::error("ingest: node {}: where a refused agent speaks from could not be recorded: {}",
                  entry.name, std::string(noted.message()));
  }
  return allowed;
}

void Shard::Adopt(NodeEntry& entry, Session& session) {
  const uint64_t now = context_.clock->UnixNs();
  bool reinstalled = false;
  bool counted = true;
  const absl::Status status = context_.store->UpdateNode(
      entry.number, storage::Durability::kBuffered, [&](storage::NodeRecord& record) {
        const int known = record.incarnations_size();
        v1::KnownIncarnation& incarnation = storage::NodeRegistry::IncarnationOf(
            record, session.stream.incarnation, v1::INCARNATION_STATUS_COUNTED, now);
        incarnation.set_last_seen_ns(now);
        NoteMachine(incarnation, session.stream.info, session.peer().address, now);
        counted = incarnation.status() == v1::INCARNATION_STATUS_COUNTED;
        if (counted || !record.has_info()) {
          *record.mutable_info() = session.stream.info;
          record.set_peer_address(session.peer().address);
        }
        reinstalled = known > 0 && record.incarnations_size() > known;
        if (reinstalled) {
          storage::NodeRegistry::AddRemark(record, v1::REMARK_KIND_REINSTALLED,
                                           "the agent began anew with an empty spool directory",
                                           now);
        }
      });
  if (!status.ok()) {
    spdlog::error("ingest: node {}: its incarnation could not be recorded: {}", entry.name,
                  std::string(status.message()));
  }
  session.stream.counted = counted;
  if (reinstalled) context_.stats->Add(Count::kReinstalled);
}

void Shard::SetApart(NodeEntry& entry, const std::vector<storage::Incarnation>& incarnations,
                     v1::RemarkKind kind, const std::string& why) {
  // What was checked before the proof still went by the old status.
  Flush();
  const uint64_t now = context_.clock->UnixNs();
  // Whom an operator decided for stays the node whoever comes; a copy of its disk speaks in its
  // name, though, so that only another decision can tell them apart.
  std::vector<storage::Incarnation> apart = incarnations;
  if (const auto record = context_.store->Find(entry.number); record && apart.size() > 1) {
    std::erase_if(apart, [&](const storage::Incarnation& incarnation) {
      const std::string id = BytesOf(incarnation);
      return std::any_of(
          record->incarnations().begin(), record->incarnations().end(),
          [&](const v1::KnownIncarnation& known) { return known.id() == id && known.kept(); });
    });
  }
  for (const auto& [id, session] : entry.streams) {
    if (Contains(apart, session->stream.incarnation)) session->stream.counted = false;
  }
  entry.clones.Settle();
  if (entry.state != v1::NODE_STATE_CLONE_CONFLICT) {
    context_.stats->Add(Count::kCloneConflicts);
    spdlog::error(
        "ingest: node {}: {}: agents {}; epochs of {} are kept apart until an operator decides; "
        "`telltale nodes --node {}` shows the agents, `{}` keeps one; then give the other machine "
        "a certificate of its own",
        entry.name, why, Speakers(entry, incarnations), ShortIds(apart), entry.name,
        KeepCommand(entry.name, {}));
  }
  entry.state = v1::NODE_STATE_CLONE_CONFLICT;
  const absl::Status status = context_.store->UpdateNode(
      entry.number, storage::Durability::kDurable, [&](storage::NodeRecord& record) {
        for (const storage::Incarnation& incarnation : apart) {
          v1::KnownIncarnation& known = storage::NodeRegistry::IncarnationOf(
              record, incarnation, v1::INCARNATION_STATUS_APART, now);
          known.set_status(v1::INCARNATION_STATUS_APART);
          known.set_kept(false);
          known.clear_kept_machine();
        }
        for (const auto& [id, session] : entry.streams) {
          if (!Contains(incarnations, session->stream.incarnation)) continue;
          if (v1::KnownIncarnation* known = Find(record, BytesOf(session->stream.incarnation))) {
            NoteMachine(*known, session->stream.info, session->peer().address, now);
          }
        }
        if (record.state() != v1::NODE_STATE_CLONE_CONFLICT) record.set_state_since_ns(now);
        record.set_state(v1::NODE_STATE_CLONE_CONFLICT);
        storage::NodeRegistry::AddRemark(record, kind, why, now);
      });
  if (!status.ok()) {
    spdlog::error("ingest: node {}: its clone conflict could not be recorded: {}", entry.name,
                  std::string(status.message()));
  }
}

absl::StatusOr<v1::KeepAnswer> Shard::Keep(const KeepOrder& order) {
  NodeEntry* entry = nodes_.Find(order.node);
  auto record = entry == nullptr ? std::nullopt : context_.store->Find(entry->number);
  if (!record) {
    return absl::NotFoundError(absl::StrCat("keep: node \"", proto::SanitizeText(order.node, 64),
                                            "\" is unknown; telltale nodes lists them"));
  }
  const uint64_t now = context_.clock->UnixNs();
  absl::StatusOr<v1::KeepAnswer> answer = Decide(order, now, *record);
  if (!answer.ok() || !answer->changed()) return answer;
  std::vector<std::shared_ptr<Session>> against;
  for (const auto& [id, session] : entry->streams) {
    const StreamState& stream = session->stream;
    if (!MaySpeak(*record, BytesOf(stream.incarnation), stream.info.machine_fingerprint()).ok()) {
      against.push_back(session);
    } else if (const auto* known = Find(*record, BytesOf(stream.incarnation));
               known != nullptr && known->kept()) {
      *record->mutable_info() = stream.info;
      record->set_peer_address(session->peer().address);
      record->set_state(v1::NODE_STATE_REPORTING);
      record->set_state_since_ns(now);
    }
  }
  const absl::Status recorded =
      context_.store->UpdateNode(entry->number, storage::Durability::kDurable,
                                 [&](storage::NodeRecord& changed) { changed = *record; });
  if (!recorded.ok()) {
    return absl::UnavailableError(absl::StrCat(
        "keep: the decision about node ", order.node,
        " could not be recorded, nothing is changed: ", std::string(recorded.message())));
  }
  if (absl::Status status = context_.store->Decided(entry->number); !status.ok()) {
    spdlog::error("ingest: node {}: {}; epochs apart are counted after the next start", order.node,
                  std::string(status.message()));
  }
  context_.stats->Add(Count::kCloneDecisions);
  spdlog::info(
      "ingest: node {}: operator {} decided for agent {}; {} refused, {} of their streams "
      "ended, {} epochs apart of the kept one",
      order.node, order.by, answer->kept(), answer->decision().refused_size(), against.size(),
      answer->epochs_apart());
  entry->state = record->state();
  entry->heard_mono_ns = context_.clock->MonoNs();
  for (const auto& [id, session] : entry->streams) {
    const auto* known = Find(*record, BytesOf(session->stream.incarnation));
    session->stream.counted = known == nullptr || known->status() == v1::INCARNATION_STATUS_COUNTED;
  }
  for (const auto& session : against) {
    Refuse(*session, Count::kStreamDecidedAgainst,
           MaySpeak(*record, BytesOf(session->stream.incarnation),
                    session->stream.info.machine_fingerprint()));
  }
  return answer;
}

}  // namespace telltale::ingest
