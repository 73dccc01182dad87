#include "agent/uplink/uplink_logic.h"

#include <xxhash.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

constexpr uint32_t kProtocol = 1;
constexpr uint32_t kMaxSpreadS = 3'600;
constexpr uint32_t kFirstSpreadS = 55;  // until the collector says otherwise
constexpr uint32_t kMaxInFlight = 16;
constexpr uint32_t kMaxInFlightBytes = 1 << 20;
// The collector ends the stream at a message above 1 MiB (collector/grpc_server.h), so one that
// large must never be sent: it would be sent again on every stream.
constexpr size_t kMaxMessageBytes = (1 << 20) - (64 << 10);
constexpr uint32_t kDefaultBacklogPerS = 10;
constexpr uint64_t kRefusedAgainNs = 60 * kNsPerS;  // after a refusal that is not permanent
constexpr uint64_t kUnreadAgainNs = 60 * kNsPerS;   // after a disk that would not answer
constexpr uint64_t kMaxRetryAfterMs = 600'000;
constexpr uint64_t kStableNs = 30 * kNsPerS;  // a stream that lived so long was no failure
constexpr uint64_t kProbeEveryNs = 60 * kNsPerS;
constexpr uint64_t kFirstProbesEveryNs = kNsPerS;
// How a dead connection is noticed. A collector that is behind reads no stream for a while: all
// connecting anew would be more work for it.
constexpr uint64_t kProbeTimeoutNs = 60 * kNsPerS;
constexpr uint32_t kFirstProbes = 4;
constexpr uint64_t kPausesPerOutage = 4;
constexpr size_t kReasonBytes = 300;
constexpr uint32_t kInvalidArgument = 3;  // google.rpc.Code
constexpr uint32_t kUnimplemented = 12;
constexpr uint32_t kMaxWatchSeconds = 60;

// A setting the collector may lower, within what the protocol allows; 0: not said.
uint32_t Setting(uint32_t value, uint32_t most) {
  return value == 0 ? most : std::min(value, most);
}

}  // namespace

UplinkLogic::UplinkLogic(Options options, const Clock& clock, Transport& transport,
                         SpoolSide& spool)
    : options_(std::move(options)), clock_(clock), transport_(transport), spool_(spool) {
  settings_.set_spread_s(kFirstSpreadS);
  ApplySettings(settings_);
}

uint64_t UplinkLogic::SpreadNs(const std::string& node, const std::string& incarnation,
                               uint32_t spread_s, uint32_t epoch_length_s) {
  const uint64_t span_ms = std::min<uint64_t>(std::min(spread_s, kMaxSpreadS) * 1'000ull,
                                              epoch_length_s * 11'000ull / 12);
  if (span_ms == 0) return 0;
  const std::string key = node + '\0' + incarnation;
  return XXH3_64bits(key.data(), key.size()) % span_ms * kNsPerMs;
}

void UplinkLogic::SetNodeInfo(const v1::NodeInfo& info) {
  node_info_ = info;
  has_node_info_ = true;
  if (state_ == State::kStreaming) {
    v1::AgentMessage message;
    *message.mutable_node_info() = info;
    transport_.Send(std::move(message));
  }
}

void UplinkLogic::OnBacklog(uint64_t sequence, uint64_t bytes) {
  newest_sequence_ = std::max(newest_sequence_, sequence);
  queue_.AddBacklog(sequence, bytes);
}

void UplinkLogic::OnFresh(uint64_t sequence, uint64_t bytes, bool at_once,
                          std::string held_record) {
  newest_sequence_ = std::max(newest_sequence_, sequence);
  const uint64_t spread =
      SpreadNs(options_.node, options_.incarnation, settings_.spread_s(), options_.epoch_length_s);
  const uint64_t due = clock_.MonoNs() + (at_once || stopping_ ? 0 : spread);
  queue_.AddFresh(sequence, bytes, due, std::move(held_record));
}

void UplinkLogic::OnLost(const v1::Lost& lost) {
  if (lost.first_sequence() == 0) return;
  newest_sequence_ = std::max(newest_sequence_, lost.last_sequence());
  lost_[lost.first_sequence()] = lost;
  lost_sent_.erase(lost.first_sequence());
  // On a full disk the spool keeps the newest in memory, and so must this side.
  queue_.DropHeld(lost.first_sequence(), lost.last_sequence());
}

void UplinkLogic::OnStop() {
  if (stopping_) return;
  stopping_ = true;
  const uint64_t now = clock_.MonoNs();
  stop_deadline_ns_ = now + options_.goodbye_timeout_ms * kNsPerMs;
  queue_.HurryFresh(now);
  if (state_ == State::kWaiting) state_ = State::kFinished;
}

void UplinkLogic::Connect() {
  ++counts_.connects;
  schemas_sent_.clear();
  names_sent_.clear();
  lost_sent_.clear();
  probes_sent_ = 0;
  state_ = State::kGreeting;
  greeting_deadline_ns_ = clock_.MonoNs() + WelcomeTimeoutMs() * kNsPerMs;
  transport_.Open();
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_protocol(kProtocol);
  *hello.mutable_node_info() = node_info_;
  hello.set_incarnation(options_.incarnation);
  hello.set_oldest_sequence(queue_.oldest());
  hello.set_newest_sequence(newest_sequence_);
  transport_.Send(std::move(message));
}

void UplinkLogic::OnMessage(const v1::CollectorMessage& message) {
  if (state_ != State::kGreeting && state_ != State::kStreaming) return;
  if (state_ == State::kGreeting && !message.has_welcome()) {
    Fail("its first message was no Welcome; is this a Telltale collector of this version?");
    return;
  }
  switch (message.kind_case()) {
    case v1::CollectorMessage::kWelcome:
      return OnWelcome(message.welcome());
    case v1::CollectorMessage::kVerdict:
      return OnVerdict(message.verdict());
    case v1::CollectorMessage::kProbeReply:
      return OnProbeReply(message.probe_reply());
    case v1::CollectorMessage::kCommand:
      return OnCommand(message.command());
    case v1::CollectorMessage::kSettings:
      return ApplySettings(message.settings());
    case v1::CollectorMessage::kLostRecorded: {
      const v1::LostRecorded& range = message.lost_recorded();
      const auto it = lost_.find(range.first_sequence());
      // Only what was declared; a range that has grown since is declared again.
      if (it == lost_.end() || range.last_sequence() > it->second.last_sequence()) return;
      if (it->second.last_sequence() == range.last_sequence()) lost_.erase(it);
      spool_.LostRecorded(range.first_sequence(), range.last_sequence());
      return;
    }
    case v1::CollectorMessage::KIND_NOT_SET:
      return;  // of a later version
  }
}

void UplinkLogic::OnWelcome(const v1::Welcome& welcome) {
  if (state_ == State::kStreaming) return;
  state_ = State::kStreaming;
  streaming_since_ns_ = clock_.MonoNs();
  next_probe_ns_ = streaming_since_ns_;
  greetings_given_up_ = 0;
  last_error_.clear();
  if (welcome.store_id() != store_id_) {
    store_id_ = welcome.store_id();
    spool_.NewStore();
  }
  ApplySettings(welcome.settings());
  queue_.RemoveThrough(std::min(welcome.received_through(), newest_sequence_),
                       [&](uint64_t sequence) { spool_.Settled(sequence); });
  spdlog::info("uplink: connected to {} (version {}), {} summaries to send", options_.collector,
               proto::SanitizeText(welcome.collector_version(), 64), queue_.size());
}

void UplinkLogic::ApplySettings(const v1::Settings& settings) {
  settings_ = settings;
  SendQueue::Limits limits;
  limits.in_flight = Setting(settings.max_in_flight(), kMaxInFlight);
  limits.in_flight_bytes = Setting(settings.max_in_flight_bytes(), kMaxInFlightBytes);
  limits.backlog_per_s = Setting(settings.backlog_per_s(), kDefaultBacklogPerS);
  queue_.set_limits(limits);
}

void UplinkLogic::OnVerdict(const v1::Verdict& verdict) {
  const uint64_t sequence = verdict.sequence();
  const SendQueue::Item* item = queue_.Find(sequence);
  if (item == nullptr || !item->in_flight) return;  // an answer to nothing that was asked
  const uint64_t now = clock_.MonoNs();
  const auto settle = [&] {
    queue_.Remove(sequence);
    spool_.Settled(sequence);
  };
  const std::string reason = proto::SanitizeText(verdict.reason(), kReasonBytes);
  switch (verdict.kind()) {
    case v1::Verdict::STORED:
      ++counts_.stored;
      if (verdict.apart()) {
        ++counts_.apart;
        if (apart_.empty()) spdlog::error("uplink: epoch {} is {}", sequence, reason);
        apart_ = reason;
      } else {
        apart_.clear();
      }
      return settle();
    case v1::Verdict::REPEAT:
      ++counts_.repeats;
      return settle();
    case v1::Verdict::TOO_LATE:
      ++counts_.too_late;
      spdlog::warn("uplink: epoch {} came too late, its windows are closed: {}", sequence, reason);
      return settle();
    case v1::Verdict::REFUSED:
      ++counts_.refused;
      if (verdict.permanent()) {
        spdlog::error("uplink: epoch {} refused for good, set aside in the spool: {}", sequence,
                      reason);
        queue_.Remove(sequence);
        spool_.SetAside(sequence, reason);
      } else {
        spdlog::warn("uplink: epoch {} refused for now: {}", sequence, reason);
        queue_.Defer(sequence, now + kRefusedAgainNs);
      }
      return;
    case v1::Verdict::RETRY_AFTER: {
      ++counts_.retried;
      // Where a summary could not be stored, what travelled before it may not have been either; to
      // tell it twice changes nothing.
      names_sent_.erase(sequence);
      schemas_sent_.clear();
      const uint64_t ms = std::clamp<uint64_t>(verdict.retry_after_ms(), 100, kMaxRetryAfterMs);
      return queue_.Defer(sequence, now + ms * kNsPerMs);
    }
    default:  // a verdict of a later version: keep it, ask again
      ++counts_.retried;
      return queue_.Defer(sequence, now + kRefusedAgainNs);
  }
}

void UplinkLogic::OnProbeReply(const v1::ProbeReply& reply) {
  if (probe_sent_unix_ns_ == 0 || reply.sent_unix_ns() != probe_sent_unix_ns_) return;
  probe_sent_unix_ns_ = 0;
  const uint64_t wall = clock_.WallNs();
  if (offset_.Add(reply, wall, clock_.MonoNs() - probe_sent_ns_)) {
    spool_.ClockMeasured(offset_.offset_ns(), offset_.error_ns());
  }
  if (reply.hlc() == 0) return;
  if (hlc_.Merge(reply.hlc(), wall)) {
    spool_.HlcMerged(hlc_.last());
  } else {
    counts_.hlc_refused = hlc_.refused();
  }
}

void UplinkLogic::OnCommand(const v1::Command& command) {
  v1::AgentMessage message;
  v1::Result& result = *message.mutable_result();
  result.set_id(command.id());
  if (v1::Subscribe wanted; command.kind() != v1::COMMAND_KIND_SUBSCRIBE) {
    result.set_code(kUnimplemented);
    result.set_message(
        absl::StrCat("this agent knows no command of kind ", static_cast<int>(command.kind())));
  } else if (!wanted.ParseFromString(command.payload())) {
    result.set_code(kInvalidArgument);
    result.set_message("subscribe: its payload is not one");
  } else {
    spool_.WatchSeconds(std::min(wanted.seconds(), kMaxWatchSeconds));
  }
  transport_.Send(std::move(message));
}

void UplinkLogic::OnSecond(v1::Live second) {
  if (state_ != State::kStreaming || goodbye_sent_) return;
  v1::AgentMessage message;
  *message.mutable_live() = std::move(second);
  transport_.Send(std::move(message));
}

void UplinkLogic::SendProbe() {
  const uint64_t now = clock_.MonoNs();
  if (now < next_probe_ns_ || probe_sent_unix_ns_ != 0) return;
  ++probes_sent_;
  next_probe_ns_ = now + (probes_sent_ < kFirstProbes ? kFirstProbesEveryNs : kProbeEveryNs);
  probe_sent_unix_ns_ = clock_.WallNs();
  probe_sent_ns_ = now;
  v1::AgentMessage message;
  message.mutable_probe()->set_sent_unix_ns(probe_sent_unix_ns_);
  message.mutable_probe()->set_hlc(hlc_.Now(probe_sent_unix_ns_));
  transport_.Send(std::move(message));
}

void UplinkLogic::SendLost() {
  for (const auto& [first, lost] : lost_) {
    if (!lost_sent_.insert(first).second) continue;
    v1::AgentMessage message;
    *message.mutable_lost() = lost;
    transport_.Send(std::move(message));
  }
}

void UplinkLogic::SendDue() {
  while (const auto sequence = queue_.Next(clock_.MonoNs())) SendRecord(*sequence);
}

void UplinkLogic::SendRecord(uint64_t sequence) {
  const std::string& held = queue_.Find(sequence)->held;
  auto record = held.empty() ? spool_.Read(sequence) : DecodeRecord(held);
  const uint64_t now = clock_.MonoNs();
  if (absl::IsNotFound(record.status()) || absl::IsDataLoss(record.status())) {
    ++counts_.unreadable;
    queue_.Remove(sequence);
    spool_.Unreadable(sequence);  // the spool declares it lost if it does not know why
    return;
  }
  if (!record.ok()) {
    last_error_ = std::string(record.status().message());
    spdlog::error("{}; epoch {} is tried again in a minute", last_error_, sequence);
    queue_.Defer(sequence, now + kUnreadAgainNs);
    return;
  }
  if (HeldByFuture(*record, now)) return;
  v1::AgentMessage message;
  if (schemas_sent_.insert(record->schema.id()).second) {
    *message.mutable_schema() = std::move(record->schema);
    transport_.Send(std::move(message));
  }
  if (names_sent_.insert(sequence).second) {
    for (v1::Names& names : record->names) SendNames(sequence, std::move(names));
  }
  // The codec's limits on body and cells keep it well below the largest message.
  v1::AgentMessage carrier;
  *carrier.mutable_summary() = std::move(record->summary);
  transport_.Send(std::move(carrier));
}

// Records of an older agent hold the names of a file in one message, however large. Without them
// some code stays without names; with them no epoch of this node would arrive any more.
void UplinkLogic::SendNames(uint64_t sequence, v1::Names names) {
  v1::AgentMessage carrier;
  *carrier.mutable_names() = std::move(names);
  const size_t bytes = carrier.ByteSizeLong();
  if (bytes <= kMaxMessageBytes) return transport_.Send(std::move(carrier));
  const auto left_out = static_cast<uint64_t>(carrier.names().name_size());
  counts_.names_left_out += left_out;
  spdlog::warn(
      "uplink: send epoch {}: its {} names of {} take {} bytes, limit {}; sent without them, that "
      "code shows as addresses",
      sequence, left_out, proto::SanitizeText(carrier.names().path(), kReasonBytes), bytes,
      kMaxMessageBytes);
}

bool UplinkLogic::HeldByFuture(const Record& record, uint64_t now_ns) {
  if (!offset_.known()) return false;
  const uint64_t collector_now =
      clock_.WallNs() + static_cast<uint64_t>(offset_.offset_ns());  // wraps as intended
  const uint64_t latest = collector_now + options_.max_future_ms * kNsPerMs;
  const uint64_t end = record.summary.end_unix_ns();
  if (end <= latest) return false;
  const uint64_t sequence = record.summary.identity().sequence();
  spdlog::warn(
      "uplink: epoch {} ends {} s in the collector's future and stays in the spool; correct "
      "this node's clock",
      sequence, (end - collector_now) / kNsPerS);
  // Looked at again from time to time: a clock may be corrected.
  queue_.Defer(sequence, now_ns + std::min(end - latest, kMaxRetryAfterMs * kNsPerMs));
  return true;
}

void UplinkLogic::SayGoodbye() {
  goodbye_sent_ = true;
  v1::AgentMessage message;
  message.mutable_goodbye()->set_reason(v1::Goodbye::STOP);
  transport_.Send(std::move(message));
  transport_.Finish();
}

uint64_t UplinkLogic::JitteredDelayNs(uint64_t now_ns) const {
  const uint64_t alone_ms = (now_ns - alone_since_ns_) / kNsPerMs;
  const uint64_t longest_ms = std::min(
      options_.reconnect_max_ms, std::max(options_.reconnect_base_ms, alone_ms / kPausesPerOutage));
  return static_cast<uint64_t>(options_.random() * static_cast<double>(longest_ms)) * kNsPerMs;
}

uint64_t UplinkLogic::WelcomeTimeoutMs() const {
  const uint64_t longest_ms =
      std::max(options_.welcome_timeout_ms, options_.welcome_timeout_max_ms);
  uint64_t timeout_ms = options_.welcome_timeout_ms;
  for (uint32_t i = 0; i < greetings_given_up_ && timeout_ms < longest_ms; ++i) timeout_ms *= 2;
  return std::min(timeout_ms, longest_ms);
}

void UplinkLogic::Fail(const std::string& why) {
  transport_.Abort();
  Disconnected(why);
}

void UplinkLogic::OnClosed(const absl::Status& status) {
  if (state_ != State::kGreeting && state_ != State::kStreaming) return;
  Disconnected(status.ok() ? "the collector ended the stream"
                           : proto::SanitizeText(std::string(status.message()), kReasonBytes));
}

void UplinkLogic::Disconnected(const std::string& why) {
  const uint64_t now = clock_.MonoNs();
  const bool was_stable = state_ == State::kStreaming && now - streaming_since_ns_ >= kStableNs;
  if (was_stable || alone_since_ns_ == 0) alone_since_ns_ = now;
  queue_.ResetInFlight();
  probe_sent_unix_ns_ = 0;
  if (stopping_) {
    state_ = State::kFinished;
    return;
  }
  state_ = State::kWaiting;
  reconnect_at_ns_ = now + JitteredDelayNs(now);
  // The same trouble at every attempt is said once.
  if (why != last_error_) {
    spdlog::warn(
        "uplink: no stream to {}: {}; epochs are kept in the spool, trying again at most "
        "every {} s",
        options_.collector, why, options_.reconnect_max_ms / 1'000);
  }
  last_error_ = why;
}

void UplinkLogic::Tick() {
  const uint64_t now = clock_.MonoNs();
  if (stopping_ && now >= stop_deadline_ns_ && state_ != State::kFinished) {
    transport_.Abort();
    state_ = State::kFinished;
  }
  if (state_ == State::kWaiting && has_node_info_ && now >= reconnect_at_ns_) Connect();
  if (state_ == State::kGreeting && now >= greeting_deadline_ns_) {
    const uint64_t waited_ms = WelcomeTimeoutMs();
    ++greetings_given_up_;
    Fail(absl::StrCat("no Welcome within ", waited_ms / 1'000, " s"));
  }
  if (state_ != State::kStreaming || goodbye_sent_) return;
  const uint64_t oldest_sent = queue_.oldest_sent_ns();
  if (oldest_sent != UINT64_MAX && now >= oldest_sent + options_.verdict_timeout_ms * kNsPerMs) {
    Fail(absl::StrCat("no verdict within ", options_.verdict_timeout_ms / 1'000, " s"));
    return;
  }
  if (probe_sent_unix_ns_ != 0 && now >= probe_sent_ns_ + kProbeTimeoutNs) {
    Fail(absl::StrCat("no answer to a probe within ", kProbeTimeoutNs / kNsPerS, " s"));
    return;
  }
  SendLost();
  SendProbe();
  SendDue();
  if (stopping_ && !queue_.FreshOrInFlight()) SayGoodbye();
}

uint64_t UplinkLogic::NextWakeNs() const {
  const uint64_t now = clock_.MonoNs();
  uint64_t wake = stopping_ ? stop_deadline_ns_ : UINT64_MAX;
  switch (state_) {
    case State::kWaiting:
      return has_node_info_ ? std::min(wake, std::max(now, reconnect_at_ns_)) : wake;
    case State::kGreeting:
      return std::min(wake, greeting_deadline_ns_);
    case State::kStreaming: {
      if (goodbye_sent_) return wake;
      const uint64_t oldest_sent = queue_.oldest_sent_ns();
      if (oldest_sent != UINT64_MAX) {
        wake = std::min(wake, oldest_sent + options_.verdict_timeout_ms * kNsPerMs);
      }
      const uint64_t probe =
          probe_sent_unix_ns_ != 0 ? probe_sent_ns_ + kProbeTimeoutNs : next_probe_ns_;
      return std::min({wake, probe, queue_.NextTime(now)});
    }
    case State::kFinished:
      return now;
  }
  return now;
}

}  // namespace telltale::agent
