#include "collector/ingest/shard.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/ingest/clone_decision.h"
#include "collector/ingest/summary_gate.h"
#include "proto/codec.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"

namespace telltale::ingest {
namespace {

constexpr uint64_t kMostOverMs = 600'000;  // of a node that is over its bytes
constexpr uint32_t kContestedRetryMs = 5000;
constexpr size_t kRollupNodes = 16;  // looked at together
constexpr size_t kLiveBytes = 4096;
constexpr size_t kDetailBytes = 200;
// Far more than a backlog with all its names is.
constexpr uint32_t kFloodMessages = 20'000;
constexpr uint64_t kFloodNs = 10'000'000'000;
// What is made durable by itself keeps the shard's other nodes waiting for the disk.
constexpr uint32_t kDurableCountsFor = 50;
constexpr int64_t kClockRemarkNs = 2'000'000'000;

uint32_t CountsFor(const v1::AgentMessage& message) {
  return message.has_lost() || message.has_goodbye() ? kDurableCountsFor : 1;
}

CloneWatch::Options CloneOptions(const IngestOptions& options) {
  return {.contest_ns = options.contest_ns, .margin_ns = options.contest_margin_ns};
}

}  // namespace

Shard::Shard(const ShardContext& context)
    : context_(context), nodes_(context.store, CloneOptions(context.options)) {}

void Shard::Load(const storage::NodeRecord& record) {
  nodes_.Load(record, context_.clock->MonoNs());
}

void Shard::Process(std::span<InboxItem> items) {
  for (InboxItem& item : items) {
    StreamState& stream = item.session->stream;
    switch (item.kind) {
      case InboxItem::Kind::kOpened:
        stream.open = true;
        stream.opened_mono_ns = item.received_mono_ns;
        streams_[item.session->id()] = item.session;
        break;
      case InboxItem::Kind::kMessage:
        if (stream.open) HandleMessage(item);
        break;
      case InboxItem::Kind::kReadsDone:
        FlushOf(stream.node);
        item.session->Close(absl::OkStatus());
        break;
      case InboxItem::Kind::kClosed:
        HandleClosed(*item.session);
        break;
    }
  }
  Flush();
}

void Shard::HandleMessage(InboxItem& item) {
  Session& session = *item.session;
  if (!session.stream.greeted) {
    if (!item.message.has_hello()) {
      Refuse(session, Count::kStreamBadMessage,
             absl::FailedPreconditionError("stream: the first message must be Hello"));
      return;
    }
    HandleHello(item);
    return;
  }
  NodeEntry* entry = nodes_.Find(session.node_name());
  if (entry == nullptr) return;
  if (item.hlc_refused) {
    Remark(entry->number, v1::REMARK_KIND_CLOCK,
           "a stamp more than 2 s ahead of the collector's was not merged");
  }
  if (item.received_mono_ns > entry->flood_since_mono_ns + kFloodNs) {
    entry->flood_since_mono_ns = item.received_mono_ns;
    entry->flood_messages = 0;
  }
  entry->flood_messages += CountsFor(item.message);
  if (entry->flood_messages > kFloodMessages) {
    const absl::Status status = absl::ResourceExhaustedError(
        absl::StrCat("stream: more than ", kFloodMessages, " messages of node ", entry->name,
                     " in ", kFloodNs / (1000 * kNsPerMs),
                     " s; a loss declared and a goodbye count for ", kDurableCountsFor));
    Remark(entry->number, v1::REMARK_KIND_REFUSED, std::string(status.message()));
    Refuse(session, Count::kStreamFlood, status);
    return;
  }
  const auto proof = entry->clones.Spoke(session.id(), item.received_mono_ns);
  if (!proof.empty()) {
    SetApart(*entry, proof, v1::REMARK_KIND_CLONE, "another machine uses this certificate");
  }
  switch (item.message.kind_case()) {
    case v1::AgentMessage::kHello:
      Refuse(session, Count::kStreamBadMessage,
             absl::FailedPreconditionError("stream: Hello came twice"));
      break;
    case v1::AgentMessage::kSummary:
      HandleSummary(item);
      break;
    case v1::AgentMessage::kSchema:
      HandleSchema(item);
      break;
    case v1::AgentMessage::kNames:
      HandleNames(item);
      break;
    case v1::AgentMessage::kNodeInfo:
      HandleNodeInfo(item);
      break;
    case v1::AgentMessage::kLost:
      FlushOf(entry->number);
      HandleLost(item);
      break;
    case v1::AgentMessage::kGoodbye:
      FlushOf(entry->number);
      HandleGoodbye(item);
      break;
    case v1::AgentMessage::kLive:
      if (item.message.ByteSizeLong() > kLiveBytes) {
        context_.stats->Add(Count::kLiveDropped);
      } else {
        context_.live->Publish(session.node_name(), item.message.live());
      }
      break;
    case v1::AgentMessage::kResult:
      context_.on_result(session.node_name(), item.message.result());
      break;
    case v1::AgentMessage::kProbe:  // was answered as it came
      break;
    case v1::AgentMessage::KIND_NOT_SET:
      // A newer agent's message; Hello's features keep it from needing an answer.
      context_.stats->Add(Count::kStreamBadMessage);
      break;
  }
}

void Shard::HandleSummary(InboxItem& item) {
  Session& session = *item.session;
  NodeEntry* entry = nodes_.Find(session.node_name());
  const v1::Summary& summary = item.message.summary();
  if (entry->clones.Contested(session.id())) {
    context_.stats->Add(Count::kRetryContested);
    SendVerdict(session,
                RetryAfter(summary.identity().sequence(),
                           "node: another stream with this certificate is still open; waiting "
                           "whether it is dead or another machine",
                           kContestedRetryMs),
                item.received_mono_ns);
    return;
  }
  const IngestSettings settings = context_.settings->Get();
  const auto schema = SchemaFor(session, summary.schema_id());
  auto checked = CheckSummary({.summary = summary,
                               .node_name = session.node_name(),
                               .incarnation = session.stream.incarnation,
                               .schema = schema.get(),
                               .cpus = session.stream.info.cpus_possible(),
                               .now_unix_ns = context_.clock->UnixNs(),
                               .settings = settings});
  if (const auto* rejected = std::get_if<Rejected>(&checked)) {
    context_.stats->Add(rejected->count);
    if (rejected->remark != v1::REMARK_KIND_UNSPECIFIED) {
      Remark(entry->number, rejected->remark, rejected->verdict.reason());
    }
    SendVerdict(session, rejected->verdict, item.received_mono_ns);
    return;
  }
  const uint64_t over_ns =
      entry->bytes.Take(item.bytes, settings.node_bytes_per_day, context_.clock->MonoNs());
  if (over_ns != 0) {
    context_.stats->Add(Count::kRetryNodeBytes);
    const std::string reason = absl::StrCat(
        "node: it sent four days' worth of the ", settings.node_bytes_per_day >> 20,
        " MiB a day that are stored of one node (the collector's ingest.node_bytes_per_day)");
    Remark(entry->number, v1::REMARK_KIND_QUOTA, reason);
    const uint64_t wait_ms = std::min<uint64_t>(over_ns / kNsPerMs + 1, kMostOverMs);
    SendVerdict(session,
                RetryAfter(summary.identity().sequence(), reason, static_cast<uint32_t>(wait_ms)),
                item.received_mono_ns);
    return;
  }
  auto& accepted = std::get<Accepted>(checked);
  if (!accepted.implausible.empty()) {
    context_.stats->Add(Count::kImplausible);
    Remark(entry->number, v1::REMARK_KIND_IMPLAUSIBLE, accepted.implausible);
  }
  const v1::Epoch& epoch = accepted.body->epoch();
  if (epoch.hlc() != 0 && !context_.hybrid_clock->Merge(epoch.hlc())) {
    context_.stats->Add(Count::kHlcRefused);
  }
  if (!session.stream.clock_remarked && epoch.clock_error_ns() > 0 &&
      std::abs(epoch.clock_offset_ns()) > kClockRemarkNs) {
    session.stream.clock_remarked = true;
    Remark(entry->number, v1::REMARK_KIND_CLOCK,
           absl::StrFormat("%.1f s %s the collector's",
                           std::abs(static_cast<double>(epoch.clock_offset_ns())) / 1e9,
                           epoch.clock_offset_ns() > 0 ? "behind" : "ahead of"));
  }
  // Of one whose epochs are all refused nothing is heard.
  Heard(*entry);
  staged_.push_back(
      {item.session, &summary, std::move(accepted.body), item.received_mono_ns, item.bytes});
}

void Shard::FlushOf(uint32_t node) {
  const auto of_node = [&](const Staged& staged) { return staged.session->stream.node == node; };
  if (std::ranges::any_of(staged_, of_node)) Flush();
}

void Shard::Flush() {
  if (staged_.empty()) return;
  // Taken away first: answering may find a conflict, which flushes again.
  std::vector<Staged> all = std::exchange(staged_, {});
  std::vector<storage::Incoming> batch;
  batch.reserve(all.size());
  for (const Staged& staged : all) {
    batch.push_back({.node = staged.session->stream.node,
                     .summary = staged.summary,
                     .body = &*staged.body,
                     .counted = staged.session->stream.counted});
  }
  const auto outcomes = context_.store->PutBatch(batch);
  if (!outcomes.ok() || outcomes->size() != all.size()) {
    const bool full = absl::IsResourceExhausted(outcomes.status());
    const std::string reason =
        outcomes.ok() ? "storage: gave no outcome for each summary"
                      : absl::StrCat("storage: ", std::string(outcomes.status().message()));
    spdlog::error("ingest: writing {} summaries failed: {}; agents keep them and send again",
                  all.size(), reason);
    for (const Staged& staged : all) {
      context_.stats->Add(full ? Count::kRetryStorageFull : Count::kRetryStorageError);
      if (NodeEntry* entry = nodes_.Find(staged.session->node_name()); entry != nullptr) {
        entry->bytes.GiveBack(staged.bytes);
      }
      SendVerdict(*staged.session,
                  RetryAfter(staged.summary->identity().sequence(), reason,
                             context_.options.retry_after_ms),
                  staged.received_mono_ns);
    }
  } else {
    for (size_t i = 0; i < all.size(); ++i) Answer(all[i], (*outcomes)[i]);
    for (size_t i = 0; i < all.size(); ++i) {
      if ((*outcomes)[i] != storage::Outcome::kStored || !batch[i].counted) continue;
      context_.store->KeepBody(batch[i].node, all[i].session->stream.incarnation,
                               all[i].summary->identity().sequence(), std::move(all[i].body));
    }
  }
}

void Shard::Answer(const Staged& staged, storage::Outcome outcome) {
  Session& session = *staged.session;
  v1::Verdict verdict;
  verdict.set_sequence(staged.summary->identity().sequence());
  switch (outcome) {
    case storage::Outcome::kStored:
      verdict.set_kind(v1::Verdict::STORED);
      if (!session.stream.counted) {
        verdict.set_apart(true);
        verdict.set_reason(absl::StrCat(
            "kept apart, in no answer: another machine uses this node's certificate; an operator "
            "ends it with: ",
            KeepCommand(session.node_name(), {session.stream.incarnation}),
            " (or the other agent's id)"));
      }
      context_.stats->Add(session.stream.counted ? Count::kStored : Count::kStoredApart);
      if (session.stream.counted) {
        context_.live->PublishEpoch(session.node_name(), staged.body->epoch().start_unix_ns(),
                                    staged.body->epoch().end_unix_ns());
        RemarkOrder(session, verdict.sequence(), staged.body->epoch());
      }
      if (staged.body->epoch().unspooled()) {
        Remark(session.stream.node, v1::REMARK_KIND_SPOOL,
               "could not be written: epochs waited in memory, where a kill would have lost them; "
               "the disk of spool.dir is full or hangs (telltale-agent status)");
      }
      break;
    case storage::Outcome::kRepeat:
      verdict.set_kind(v1::Verdict::REPEAT);
      context_.stats->Add(Count::kRepeat);
      break;
    case storage::Outcome::kTooLate:
      verdict.set_kind(v1::Verdict::TOO_LATE);
      verdict.set_reason("its windows are sealed or expired");
      context_.stats->Add(Count::kTooLate);
      Remark(session.stream.node, v1::REMARK_KIND_LATE,
             "epochs came whose day had already expired here: not stored; the node was away for "
             "longer than retention.raw, or its clock is behind");
      break;
    case storage::Outcome::kConflict:
      verdict = ingest::Refuse(verdict.sequence(),
                               absl::StrCat("identity: this sequence was received with another "
                                            "content, and both are kept apart; an operator ends "
                                            "it with: ",
                                            KeepCommand(session.node_name(), {})));
      context_.stats->Add(Count::kRefusedConflict);
      if (NodeEntry* entry = nodes_.Find(session.node_name());
          entry != nullptr && session.stream.counted) {
        SetApart(*entry, {session.stream.incarnation}, v1::REMARK_KIND_CONFLICT,
                 absl::StrCat("sequence ", verdict.sequence(),
                              " came twice with different content: a copied spool?"));
      }
      break;
  }
  SendVerdict(session, verdict, staged.received_mono_ns);
}

void Shard::RemarkOrder(const Session& session, uint64_t sequence, const v1::Epoch& epoch) {
  NodeEntry* entry = nodes_.Find(session.node_name());
  if (entry == nullptr) return;
  for (const EpochOddity& odd : entry->order.Add(session.stream.incarnation, sequence, epoch)) {
    Remark(entry->number, odd.kind, odd.text);
  }
}

void Shard::SendVerdict(Session& session, const v1::Verdict& verdict, uint64_t received_mono_ns) {
  v1::CollectorMessage message;
  *message.mutable_verdict() = verdict;
  session.Send(std::move(message));
  if (verdict.kind() != v1::Verdict::STORED) return;  // nothing became durable
  const uint64_t now = context_.clock->MonoNs();
  context_.stats->AddAck(now > received_mono_ns ? now - received_mono_ns : 0);
}

void Shard::HandleLost(const InboxItem& item) {
  const v1::Lost& lost = item.message.lost();
  const StreamState& stream = item.session->stream;
  const storage::LostRange range = {
      .first = lost.first_sequence(),
      .last = lost.last_sequence(),
      .reason = lost.reason(),
      .detail = proto::SanitizeText(lost.detail(), kDetailBytes),
      .start_ns = lost.start_unix_ns(),
      .end_ns = lost.end_unix_ns(),
  };
  const absl::Status status = context_.store->DeclareLost(stream.node, stream.incarnation, range);
  if (!status.ok()) {
    const bool invalid = absl::IsInvalidArgument(status);
    context_.stats->Add(invalid ? Count::kStreamBadMessage : Count::kRetryStorageError);
    if (invalid) Remark(stream.node, v1::REMARK_KIND_REFUSED, std::string(status.message()));
    return;  // without LostRecorded the agent declares it again
  }
  context_.stats->Add(Count::kLostDeclared, range.last - range.first + 1);
  v1::CollectorMessage message;
  message.mutable_lost_recorded()->set_first_sequence(range.first);
  message.mutable_lost_recorded()->set_last_sequence(range.last);
  item.session->Send(std::move(message));
}

void Shard::HandleNames(const InboxItem& item) {
  const v1::Names& names = item.message.names();
  absl::Status status = proto::CheckNames(names);
  if (status.ok()) status = context_.store->PutNames(item.session->stream.node, names);
  if (status.ok()) return;
  context_.stats->Add(Count::kNamesRefused);
  Remark(item.session->stream.node,
         absl::IsResourceExhausted(status) ? v1::REMARK_KIND_QUOTA : v1::REMARK_KIND_REFUSED,
         absl::StrCat("names: ", std::string(status.message())));
}

void Shard::HandleSchema(const InboxItem& item) {
  constexpr size_t kMaxSchemasPerStream = 32;
  StreamState& stream = item.session->stream;
  const v1::Schema& schema = item.message.schema();
  absl::Status status = proto::CheckSchema(schema);
  if (status.ok() && stream.schemas.size() >= kMaxSchemasPerStream) {
    status = absl::ResourceExhaustedError(
        absl::StrCat("schema: more than ", kMaxSchemasPerStream, " on one stream"));
  }
  if (status.ok()) status = context_.store->PutSchema(stream.node, schema);
  if (status.ok()) {
    // Its id is the hash of its content: one copy serves all nodes that have the same.
    const auto stored = context_.store->Schema(schema.id());
    stream.schemas[schema.id()] =
        stored.ok() ? *stored : std::make_shared<const v1::Schema>(schema);
    return;
  }
  // Its epochs must not be read by the other one that is known under this id.
  if (absl::IsAlreadyExists(status)) stream.schemas[schema.id()] = nullptr;
  context_.stats->Add(Count::kSchemaRefused);
  Remark(stream.node,
         absl::IsResourceExhausted(status) ? v1::REMARK_KIND_QUOTA : v1::REMARK_KIND_REFUSED,
         std::string(status.message()));
}

std::shared_ptr<const v1::Schema> Shard::SchemaFor(Session& session, uint64_t id) {
  const auto sent = session.stream.schemas.find(id);
  if (sent != session.stream.schemas.end()) return sent->second;
  const auto stored = context_.store->Schema(id);
  return stored.ok() ? *stored : nullptr;
}

void Shard::Tick() {
  const uint64_t mono_ns = context_.clock->MonoNs();
  const uint64_t unix_ns = context_.clock->UnixNs();
  for (auto& [name, entry] : nodes_.entries()) {
    const auto proof = entry->clones.Tick(mono_ns);
    if (!proof.empty()) {
      SetApart(*entry, proof, v1::REMARK_KIND_CLONE, "another machine uses this certificate");
    }
  }
  for (NodeEntry* entry : nodes_.FallenSilent(mono_ns, context_.settings->Get().spread_s)) {
    const uint64_t silence_ns = mono_ns - entry->heard_mono_ns;
    spdlog::warn("ingest: node {} is silent: nothing for {} s", entry->name,
                 silence_ns / (1000 * kNsPerMs));
    SetState(*entry, v1::NODE_STATE_SILENT, unix_ns > silence_ns ? unix_ns - silence_ns : 0);
  }
  // Refuse ends streams, which may take them out of the map: collect first.
  std::vector<std::shared_ptr<Session>> mute;
  // A Hello that waits here, because many connected at once, is not held against its sender: it
  // would connect again and make them more.
  for (const auto& [id, session] : streams_) {
    if (!session->stream.greeted && !session->heard() &&
        mono_ns > session->stream.opened_mono_ns + context_.options.hello_timeout_ns) {
      mute.push_back(session);
    }
  }
  for (const auto& session : mute) {
    Refuse(*session, Count::kStreamNoHello,
           absl::DeadlineExceededError(
               absl::StrCat("stream: no Hello within ",
                            context_.options.hello_timeout_ns / (1000 * kNsPerMs), " s")));
  }
}

bool Shard::RollUp(uint32_t max_windows) {
  const std::span<const uint32_t> nodes = nodes_.numbers();
  absl::Status first_error;
  uint32_t errors = 0;
  uint64_t expired = 0;
  bool worked = false;
  for (size_t looked = 0; looked < nodes.size() && !worked; looked += kRollupNodes) {
    if (rollup_at_ >= nodes.size()) rollup_at_ = 0;
    const auto some = nodes.subspan(rollup_at_, std::min(kRollupNodes, nodes.size() - rollup_at_));
    rollup_at_ += some.size();
    const auto done = context_.store->RollUp(some, context_.clock->UnixNs(), max_windows, &expired);
    if (done.ok()) {
      worked = *done > 0;
      continue;
    }
    context_.stats->Add(Count::kRollupErrors);
    first_error.Update(done.status());
    ++errors;
    // The disk is full: what the next groups would compute could not be written either.
    if (absl::IsResourceExhausted(done.status())) break;
  }
  if (errors > 0) {
    spdlog::error(
        "rollup: {} groups of nodes had errors, the first: {}; their windows stay marked "
        "and are tried again",
        errors, std::string(first_error.message()));
  }
  if (expired > 0) {
    context_.stats->Add(Count::kWindowsExpired, expired);
    spdlog::warn(
        "rollup: windows of 5 min not computed before their raw epochs expired: {}; what came for "
        "them since they were last computed, all of it if they never were, is in no tier any more",
        expired);
  }
  return worked;
}

}  // namespace telltale::ingest
