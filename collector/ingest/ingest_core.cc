#include "collector/ingest/ingest_core.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace telltale::ingest {
namespace {

constexpr uint64_t kTickNs = 1'000'000'000;
constexpr uint32_t kRollupWindows = 8;  // between two looks into the inbox
constexpr size_t kBusySteps = 8;  // batches of a full inbox, then windows are due all the same
constexpr uint64_t kDrainNs = 20'000'000'000;
constexpr size_t kMaxOrders = 64;  // waiting at one shard

// Stable between processes, so that a node always meets the same shard count the same way (FNV-1a).
uint64_t HashName(const std::string& name) {
  uint64_t hash = 14695981039346656037ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

Inbox::Options InboxOptions(const IngestOptions& options) {
  Inbox::Options inbox;
  inbox.bytes = options.queue_bytes;
  return inbox;
}

}  // namespace

struct IngestCore::Lane {
  Lane(const ShardContext& context, const Inbox::Options& options, IngestStats* stats)
      : inbox(options, stats), shard(context) {}
  Inbox inbox;
  Shard shard;
  std::atomic<size_t> reporting = 0;  // of its nodes, at the last tick
  std::thread thread;
  std::mutex orders_mutex;
  std::vector<std::pair<KeepOrder, Kept>> orders;  // guarded by orders_mutex; bounded
  bool closed = false;                             // guarded by orders_mutex: takes no more
};

IngestCore::IngestCore(const IngestOptions& options, const IngestSettings& settings,
                       IngestStore* store, const Clock* clock)
    : options_(options),
      settings_(settings),
      store_(store),
      clock_(clock),
      live_(&stats_),
      hybrid_clock_(clock) {
  const ShardContext context = {
      .options = options_,
      .settings = &settings_,
      .store = store_,
      .clock = clock_,
      .stats = &stats_,
      .live = &live_,
      .hybrid_clock = &hybrid_clock_,
      .on_result =
          [this](const std::string& node, const v1::Result& result) {
            if (!commands_.Finish(node, result)) stats_.Add(Count::kStreamBadMessage);
          },
  };
  for (size_t i = 0; i < std::max<size_t>(1, options_.shards); ++i) {
    lanes_.push_back(std::make_unique<Lane>(context, InboxOptions(options_), &stats_));
  }
  for (const storage::NodeRecord& record : store_->Nodes())
    LaneOf(record.name()).shard.Load(record);
  for (const auto& lane : lanes_) lane->reporting = lane->shard.Reporting();
  settings_.SetNodes(Reporting());
}

IngestCore::~IngestCore() { Stop(); }

IngestCore::Lane& IngestCore::LaneOf(const std::string& node_name) {
  return *lanes_[HashName(node_name) % lanes_.size()];
}

void IngestCore::Start() {
  for (const auto& lane : lanes_) {
    lane->thread = std::thread([this, &lane = *lane] { Run(lane); });
  }
}

void IngestCore::Keep(KeepOrder order, Kept done) {
  Lane& lane = LaneOf(order.node);
  absl::Status refused;
  {
    const std::lock_guard<std::mutex> lock(lane.orders_mutex);
    if (lane.closed) {
      refused = absl::UnavailableError("keep: the collector is stopping; say it again later");
    } else if (lane.orders.size() >= kMaxOrders) {
      refused = absl::ResourceExhaustedError(
          absl::StrCat("keep: ", kMaxOrders, " decisions wait already; say it again in a moment"));
    } else {
      lane.orders.emplace_back(std::move(order), std::move(done));
    }
  }
  if (!refused.ok()) {
    done(refused);
    return;
  }
  lane.inbox.Wake();
}

void IngestCore::ObeyOrders(Lane& lane) {
  std::vector<std::pair<KeepOrder, Kept>> orders;
  {
    const std::lock_guard<std::mutex> lock(lane.orders_mutex);
    orders.swap(lane.orders);
  }
  for (const auto& [order, done] : orders) done(lane.shard.Keep(order));
}

bool IngestCore::Step(Lane& lane) {
  ObeyOrders(lane);
  std::vector<InboxItem> items = lane.inbox.Pop(options_.batch_items, options_.batch_bytes);
  if (items.empty()) return false;
  lane.shard.Process(items);
  lane.inbox.Done(std::move(items));
  return true;
}

void IngestCore::Tick(Lane& lane) {
  lane.shard.Tick();
  lane.reporting = lane.shard.Reporting();
  if (settings_.SetNodes(Reporting())) SendSettings();
}

size_t IngestCore::Reporting() const {
  size_t reporting = 0;
  for (const auto& lane : lanes_) reporting += lane->reporting;
  return reporting;
}

void IngestCore::Run(Lane& lane) {
  uint64_t next_tick_ns = 0;
  bool windows_due = true;
  size_t busy_steps = 0;
  while (!stopping_) {
    const bool busy = Step(lane);
    const uint64_t now = clock_->MonoNs();
    if (now >= next_tick_ns) {
      next_tick_ns = now + kTickNs;
      Tick(lane);
      commands_.Expire(now);
      windows_due = true;
    }
    // While a fleet sends what it kept for a day, windows still come, or retention waits for them.
    if (busy && ++busy_steps < kBusySteps) continue;
    busy_steps = 0;
    if (windows_due) {
      windows_due = lane.shard.RollUp(kRollupWindows);
    } else if (!busy) {
      lane.inbox.Wait(next_tick_ns - now);
    }
  }
  {
    const std::lock_guard<std::mutex> lock(lane.orders_mutex);
    lane.closed = true;
  }
  // What was read before the stop still gets its verdict; agents send again what did not.
  const uint64_t until_ns = clock_->MonoNs() + kDrainNs;
  while (clock_->MonoNs() < until_ns && Step(lane)) {
  }
}

void IngestCore::RunPending() {
  for (const auto& lane : lanes_) {
    while (Step(*lane)) Tick(*lane);
    Tick(*lane);
  }
  commands_.Expire(clock_->MonoNs());
}

void IngestCore::Stop() {
  if (stopping_.exchange(true)) return;
  for (const auto& lane : lanes_) {
    lane->inbox.Wake();
    if (lane->thread.joinable()) lane->thread.join();
  }
  CloseStreams([](const Session&) { return true; },
               absl::UnavailableError("collector: is stopping; connect again later"));
  live_.Close();
}

void IngestCore::PushEvent(const std::shared_ptr<Session>& session, InboxItem::Kind kind) {
  InboxItem item;
  item.session = session;
  item.kind = kind;
  item.received_mono_ns = clock_->MonoNs();
  LaneOf(session->node_name()).inbox.Push(std::move(item));
}

std::shared_ptr<Session> IngestCore::Open(StreamPeer peer, StreamSink* sink) {
  auto session = std::make_shared<Session>(next_id_++, std::move(peer), sink);
  stats_.AddStreams(1);
  size_t open = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    sessions_[session->id()] = session;
    open = ++streams_of_[session->node_name()];
  }
  // Each may have a message read and waiting before the shard sees whose it is: refused here, what
  // waits of a node is bounded.
  if (open > options_.max_open_streams_per_node) {
    stats_.Add(Count::kStreamNodeLimit);
    session->Close(absl::ResourceExhaustedError(absl::StrCat(
        "stream: node ", session->node_name(), " has ", open - 1, " open streams, at most ",
        options_.max_open_streams_per_node, " with those that did not say Hello")));
    return session;
  }
  PushEvent(session, InboxItem::Kind::kOpened);
  return session;
}

void IngestCore::ReadsDone(const std::shared_ptr<Session>& session) {
  PushEvent(session, InboxItem::Kind::kReadsDone);
}

void IngestCore::Closed(const std::shared_ptr<Session>& session) {
  session->Detach();
  stats_.AddStreams(-1);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    sessions_.erase(session->id());
    const auto of = streams_of_.find(session->node_name());
    if (of != streams_of_.end() && --of->second == 0) streams_of_.erase(of);
  }
  PushEvent(session, InboxItem::Kind::kClosed);
}

std::vector<std::shared_ptr<Session>> IngestCore::OpenSessions() const {
  std::vector<std::shared_ptr<Session>> open;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, session] : sessions_) open.push_back(session);
  return open;
}

bool IngestCore::Deliver(const std::shared_ptr<Session>& session, v1::AgentMessage message) {
  session->Heard();
  InboxItem item;
  item.session = session;
  item.received_mono_ns = clock_->MonoNs();
  // Many small parts take far more memory than they did on the wire.
  item.bytes = std::max(message.ByteSizeLong(), message.SpaceUsedLong());
  if (message.has_probe()) {
    // Answered here: behind the shard's writes the stamps would measure our disk.
    const uint64_t received = clock_->UnixNs();
    item.hlc_refused = message.probe().hlc() != 0 && !hybrid_clock_.Merge(message.probe().hlc());
    if (item.hlc_refused) stats_.Add(Count::kHlcRefused);
    v1::CollectorMessage reply;
    v1::ProbeReply& probe = *reply.mutable_probe_reply();
    probe.set_sent_unix_ns(message.probe().sent_unix_ns());
    probe.set_received_unix_ns(received);
    probe.set_hlc(hybrid_clock_.Now());
    probe.set_replied_unix_ns(clock_->UnixNs());
    session->Send(std::move(reply));
  }
  item.message = std::move(message);
  return LaneOf(session->node_name()).inbox.Push(std::move(item));
}

void IngestCore::SetSettings(const IngestSettings& settings) {
  settings_.Set(settings);
  SendSettings();
}

void IngestCore::SendSettings() {
  v1::CollectorMessage message;
  *message.mutable_settings() = settings_.ForAgents();
  for (const auto& session : OpenSessions()) {
    if (session->welcomed()) session->Send(message);
  }
}

IngestSnapshot IngestCore::Stats() const {
  IngestSnapshot snapshot = stats_.Snapshot();
  snapshot.spread_s = settings_.Get().spread_s;
  return snapshot;
}

void IngestCore::CloseStreams(const std::function<bool(const Session&)>& revoked,
                              const absl::Status& status) {
  for (const auto& session : OpenSessions()) {
    if (revoked(*session)) session->Close(status);
  }
}

int64_t IngestCore::FirstCertificateEnd() const {
  int64_t first = 0;
  for (const auto& session : OpenSessions()) {
    const int64_t end = session->peer().certificate_end_s;
    if (end != 0 && (first == 0 || end < first)) first = end;
  }
  return first;
}

void IngestCore::SendCommand(const std::string& node, v1::CommandKind kind, std::string payload,
                             uint64_t timeout_ns, CommandDesk::Done done) {
  std::shared_ptr<Session> target;
  for (const auto& session : OpenSessions()) {
    if (session->node_name() == node && session->welcomed()) target = session;
  }
  if (target == nullptr) {
    done(absl::UnavailableError(absl::StrCat("command: node ", node, " is not connected")));
    return;
  }
  const auto id = commands_.Register(node, clock_->MonoNs() + timeout_ns, done);
  if (!id.ok()) {
    done(id.status());
    return;
  }
  v1::CollectorMessage message;
  v1::Command& command = *message.mutable_command();
  command.set_id(*id);
  command.set_kind(kind);
  command.set_deadline_unix_ns(clock_->UnixNs() + timeout_ns);
  command.set_payload(std::move(payload));
  target->Send(std::move(message));
}

}  // namespace telltale::ingest
