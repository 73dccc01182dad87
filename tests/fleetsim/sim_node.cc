#include "tests/fleetsim/sim_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sketch/time_units.h"
#include "tests/fleetsim/noise.h"

namespace telltale::fleetsim {
namespace {

constexpr uint64_t kGuessedBytes = 8192;  // of a summary, for the bound of what is in flight

}  // namespace

SimNode::SimNode(const World& world, NodePlan plan, std::function<void()> wake)
    : world_(world),
      plan_(std::move(plan)),
      clock_(plan_.skew_ns),
      stream_(world.collector, &plan_.tls, std::move(wake)),
      mischief_(honest()
                    ? std::optional<Mischief>()
                    : std::make_optional<Mischief>(plan_.behaviour, plan_.traits.seed, &stream_)),
      below_(mischief_ ? static_cast<agent::Transport&>(*mischief_) : stream_),
      named_(world.redraw->NameCount()) {}

SimNode::~SimNode() = default;

Answers& SimNode::answers() { return world_.tally->answers[static_cast<size_t>(plan_.behaviour)]; }

void SimNode::Come() {
  ++starts_;
  ++world_.tally->arrivals;
  up_since_unix_ns_ = WallNowNs();
  agent::UplinkLogic::Options options;
  options.node = plan_.traits.name;
  options.incarnation = plan_.traits.incarnation;
  options.epoch_length_s = world_.epoch_s;
  options.collector = world_.collector;
  options.random = [this] { return Uniform(Mix(plan_.traits.seed, ++draws_)); };
  agent::Transport& transport = *this;
  agent::SpoolSide& spool = *this;
  logic_ = std::make_unique<agent::UplinkLogic>(options, clock_, transport, spool);
  for (const auto& [sequence, pending] : pending_) logic_->OnBacklog(sequence, kGuessedBytes);
  for (const auto& [first, lost] : lost_) logic_->OnLost(lost);
  logic_->SetNodeInfo(InfoOf(plan_.traits, world_.redraw->AnySchema(), world_.epoch_s));
  logic_->Tick();
}

void SimNode::Leave(bool politely) {
  if (logic_ == nullptr) return;
  ++world_.tally->departures;
  if (politely) {
    logic_->OnStop();
    logic_->Tick();
    if (!logic_->finished()) return;  // Tick ends it
  }
  Abort();
  logic_.reset();
}

void SimNode::Cut(uint64_t start_unix_ns, uint64_t end_unix_ns) {
  if (logic_ == nullptr || up_since_unix_ns_ > start_unix_ns) return;
  const uint64_t sequence = next_sequence_++;
  CutEpoch& epoch = pending_[sequence].epoch;
  epoch.sequence = sequence;
  epoch.start_unix_ns = start_unix_ns + static_cast<uint64_t>(plan_.skew_ns);
  epoch.end_unix_ns = end_unix_ns + static_cast<uint64_t>(plan_.skew_ns);
  epoch.start_mono_ns = start_unix_ns - plan_.boot_unix_ns;
  epoch.length_s = world_.epoch_s;
  epoch.clock_offset_ns = offset_ns_;
  epoch.clock_error_ns = error_ns_;
  epoch.hlc = epoch.end_unix_ns / kNsPerMs << 16;
  ++world_.tally->cut;
  ++world_.live->cut;
  logic_->OnFresh(sequence, kGuessedBytes, false, {});
}

void SimNode::BreakStream() {
  if (logic_ == nullptr || !welcomed_) return;
  Abort();
  broken_mono_ns_ = MonoNowNs();
  logic_->OnClosed(absl::UnavailableError("the connection was cut"));
}

void SimNode::Disconnected() {
  if (!welcomed_) return;
  welcomed_ = false;
  --world_.live->connected;
}

void SimNode::OnEvents() {
  for (NodeStream::Event& event : stream_.TakeEvents()) {
    if (logic_ == nullptr) return;
    if (!event.message.has_value()) {
      ++world_.tally->lost_streams;
      if (honest()) ++(*world_.problems)[std::string(event.closed.message())];
      Disconnected();
      logic_->OnClosed(event.closed);
      continue;
    }
    if (event.message->has_welcome() && !welcomed_) {
      welcomed_ = true;
      ++world_.live->connected;
      if (broken_mono_ns_ != 0) {
        world_.tally->reconnect_ms.push_back(
            static_cast<uint32_t>((event.mono_ns - broken_mono_ns_) / kNsPerMs));
        broken_mono_ns_ = 0;
      }
    }
    if (event.message->has_verdict()) OnVerdict(event.message->verdict(), event.mono_ns);
    logic_->OnMessage(*event.message);
  }
}

void SimNode::OnVerdict(const v1::Verdict& verdict, uint64_t mono_ns) {
  Answers& counts = answers();
  const auto found = pending_.find(verdict.sequence());
  Pending* const pending = found == pending_.end() ? nullptr : &found->second;
  switch (verdict.kind()) {
    case v1::Verdict::STORED:
      ++(verdict.apart() ? counts.apart : counts.stored);
      if (pending == nullptr) return;
      pending->uncounted = verdict.apart();
      if (honest() && *world_.measuring && pending->sent_mono_ns != 0) {
        Tally& tally = *world_.tally;
        (*world_.storms == 0 ? tally.ack_us : tally.storm_ack_us)
            .push_back(static_cast<uint32_t>((mono_ns - pending->sent_mono_ns) / kNsPerUs));
      }
      return;
    case v1::Verdict::REPEAT:
      ++counts.repeats;
      return;
    case v1::Verdict::TOO_LATE:
      ++counts.too_late;
      if (pending != nullptr) pending->uncounted = true;
      return;
    case v1::Verdict::REFUSED:
      ++counts.refused;
      if (honest()) ++(*world_.problems)[absl::StrCat("refused: ", verdict.reason())];
      return;
    case v1::Verdict::RETRY_AFTER:
      ++counts.retried;
      if (honest()) ++(*world_.problems)[absl::StrCat("retry: ", verdict.reason())];
      return;
    default:
      return;
  }
}

void SimNode::Tick() {
  if (logic_ == nullptr) return;
  logic_->Tick();
  if (silent_until_ns_ != 0 && MonoNowNs() >= silent_until_ns_) {
    silent_until_ns_ = 0;
    stream_.SetReading(true);
  }
  if (!logic_->finished()) return;
  Abort();
  logic_.reset();
}

uint64_t SimNode::NextWakeNs() const {
  if (logic_ == nullptr) return UINT64_MAX;
  const uint64_t wake = logic_->NextWakeNs();
  return silent_until_ns_ == 0 ? wake : std::min(wake, silent_until_ns_);
}

NodeOutcome SimNode::outcome() const {
  uint64_t unanswered = 0;
  for (const auto& [sequence, pending] : pending_) unanswered += pending.sent_mono_ns != 0 ? 1 : 0;
  return {plan_.traits.name, plan_.behaviour, acked_, acked_totals_, unanswered};
}

void SimNode::Open() {
  ++world_.tally->connects;
  Disconnected();
  below_.Open();
}

void SimNode::Abort() {
  Disconnected();
  below_.Abort();
}

void SimNode::Send(v1::AgentMessage message) {
  world_.tally->sent_bytes += message.ByteSizeLong();
  if (message.has_summary()) {
    ++answers().sent;
    const auto pending = pending_.find(message.summary().identity().sequence());
    // An epoch sent once more waits since it was first sent.
    if (pending != pending_.end() && pending->second.sent_mono_ns == 0) {
      pending->second.sent_mono_ns = MonoNowNs();
    }
    if (plan_.behaviour == Behaviour::kSlowReader) {
      silent_until_ns_ = MonoNowNs() + plan_.slow_ns;
      stream_.SetReading(false);
    }
  }
  below_.Send(std::move(message));
}

absl::StatusOr<agent::Record> SimNode::Read(uint64_t sequence) {
  const auto found = pending_.find(sequence);
  if (found == pending_.end()) return absl::NotFoundError("settled meanwhile");
  Pending& pending = found->second;
  auto drawn = world_.redraw->Draw(plan_.traits, pending.epoch, named_);
  if (!drawn.ok()) {
    ++world_.tally->draw_failures;
    ++(*world_.problems)[absl::StrCat("drawing: ", drawn.status().message())];
    return absl::NotFoundError(std::string(drawn.status().message()));
  }
  pending.drawn = true;
  pending.totals = drawn->totals;
  pending.new_names = std::move(drawn->new_names);
  if (sequence > newest_drawn_) {
    newest_drawn_ = sequence;
    ++world_.tally->summary_epochs;
    world_.tally->summary_bytes +=
        drawn->record.summary.body().size() + drawn->record.summary.cells().size();
    world_.tally->fleet_stacks.insert(drawn->stacks.begin(), drawn->stacks.end());
    if (plan_.count_stacks) {
      stacks_.insert(drawn->stacks.begin(), drawn->stacks.end());
      private_stacks_.insert(drawn->private_stacks.begin(), drawn->private_stacks.end());
    }
  }
  return std::move(drawn->record);
}

void SimNode::Settled(uint64_t sequence) {
  const auto found = pending_.find(sequence);
  if (found == pending_.end()) return;
  const Pending& pending = found->second;
  for (const uint32_t name : pending.new_names) named_[name] = true;
  if (!pending.uncounted) {
    ++acked_;
    acked_totals_.cpu_ns += pending.totals.cpu_ns;
    acked_totals_.syscalls += pending.totals.syscalls;
  }
  ++world_.tally->settled;
  ++world_.live->settled;
  pending_.erase(found);
}

void SimNode::SetAside(uint64_t sequence, const std::string& reason) {
  const auto found = pending_.find(sequence);
  if (found == pending_.end()) return;
  v1::Lost& lost = lost_[sequence];
  lost.set_first_sequence(sequence);
  lost.set_last_sequence(sequence);
  lost.set_reason(v1::Lost::REFUSED);
  lost.set_detail(reason.substr(0, 80));
  lost.set_start_unix_ns(found->second.epoch.start_unix_ns);
  lost.set_end_unix_ns(found->second.epoch.end_unix_ns);
  pending_.erase(found);
  logic_->OnLost(lost);
}

void SimNode::Unreadable(uint64_t sequence) { pending_.erase(sequence); }

void SimNode::LostRecorded(uint64_t first, uint64_t) { lost_.erase(first); }

void SimNode::NewStore() { named_.assign(named_.size(), false); }

void SimNode::ClockMeasured(int64_t offset_ns, uint64_t error_ns) {
  offset_ns_ = offset_ns;
  error_ns_ = error_ns;
}

}  // namespace telltale::fleetsim
