#include "tests/support/ingest_bench.h"

#include <utility>

#include "gtest/gtest.h"
#include "proto/codec.h"
#include "sketch/vital_ids.h"

namespace telltale::testing {

MemoryIngestStore::MemoryIngestStore(const TurnedClock* clock, size_t max_nodes,
                                     uint64_t name_bytes)
    : clock_(clock), max_nodes_(max_nodes), name_bytes_(name_bytes) {
  Reopen();
}

void MemoryIngestStore::Reopen() {
  summaries_.reset();
  auto registry = storage::NodeRegistry::Open(&catalog_, max_nodes_);
  EXPECT_TRUE(registry.ok()) << registry.status();
  registry_ = *std::move(registry);
  auto dictionary = storage::Dictionary::Open(&history_);
  EXPECT_TRUE(dictionary.ok()) << dictionary.status();
  dictionary_ = *std::move(dictionary);
  storage::SummaryStoreOptions options;
  options.history = &history_;
  options.catalog = &catalog_;
  options.registry = registry_.get();
  options.dictionary = dictionary_.get();
  options.now_ns = [clock = clock_] { return clock->UnixNs(); };
  options.max_name_bytes_per_node = name_bytes_;
  auto summaries = storage::SummaryStore::Open(std::move(options));
  EXPECT_TRUE(summaries.ok()) << summaries.status();
  summaries_ = *std::move(summaries);
}

storage::NodeRecord MemoryIngestStore::Node(const std::string& name) const {
  return registry_->Find(name).value_or(storage::NodeRecord());
}

storage::NodeList MemoryIngestStore::Nodes() const { return registry_->List(); }

std::optional<storage::NodeRecord> MemoryIngestStore::Find(uint32_t node) const {
  return registry_->Find(node);
}

absl::StatusOr<uint32_t> MemoryIngestStore::NumberOf(const std::string& name) {
  return registry_->NumberOf(name);
}

absl::Status MemoryIngestStore::UpdateNode(
    uint32_t node, storage::Durability durability,
    const std::function<void(storage::NodeRecord&)>& change) {
  return registry_->Update(node, durability, change);
}

absl::StatusOr<std::vector<storage::Outcome>> MemoryIngestStore::PutBatch(
    std::span<const storage::Incoming> batch) {
  ++batches;
  if (before_put) {
    if (absl::Status status = before_put(); !status.ok()) return status;
  }
  auto outcomes = summaries_->PutBatch(batch);
  if (after_put) after_put();
  return outcomes;
}

void MemoryIngestStore::KeepBody(uint32_t, const storage::Incarnation&, uint64_t sequence,
                                 proto::OpenBody) {
  const std::lock_guard<std::mutex> lock(kept_mutex_);
  kept_.push_back(sequence);
}

absl::Status MemoryIngestStore::DeclareLost(uint32_t node, const storage::Incarnation& incarnation,
                                            const storage::LostRange& lost) {
  return summaries_->DeclareLost(node, incarnation, lost);
}

absl::Status MemoryIngestStore::RecordStop(uint32_t node, const storage::PlannedStop& stop) {
  ++stops;
  return summaries_->RecordStop(node, stop);
}

absl::Status MemoryIngestStore::Decided(uint32_t node) { return summaries_->Decided(node); }

absl::Status MemoryIngestStore::PutNames(uint32_t node, const v1::Names& names) {
  return summaries_->PutNames(node, names);
}

absl::Status MemoryIngestStore::PutSchema(uint32_t node, const v1::Schema& schema) {
  absl::Status status = summaries_->PutSchema(node, schema);
  if (!status.ok()) return status;
  const std::lock_guard<std::mutex> lock(schemas_mutex_);
  schemas_[schema.id()] = std::make_shared<const v1::Schema>(schema);
  return absl::OkStatus();
}

uint64_t MemoryIngestStore::ReceivedThrough(uint32_t node,
                                            const storage::Incarnation& incarnation) const {
  return summaries_->ReceivedThrough(node, incarnation);
}

absl::StatusOr<std::shared_ptr<const v1::Schema>> MemoryIngestStore::Schema(uint64_t id) const {
  const std::lock_guard<std::mutex> lock(schemas_mutex_);
  const auto found = schemas_.find(id);
  if (found == schemas_.end()) return absl::NotFoundError("no such schema");
  return found->second;
}

absl::StatusOr<uint32_t> MemoryIngestStore::RollUp(std::span<const uint32_t> nodes, uint64_t,
                                                   uint32_t max_windows, uint64_t*) {
  if (before_roll_up) before_roll_up();
  return summaries_->AdoptDue(nodes, max_windows);
}

std::shared_ptr<ingest::Session> FakeStream::Open(ingest::IngestCore& core,
                                                  const std::string& node) {
  core_ = &core;
  session_ = core.Open({.node_name = node, .certificate_ids = {"certificate of " + node}}, this);
  return session_;
}

void FakeStream::Disconnect() {
  if (core_ != nullptr) core_->Closed(session_);
  core_ = nullptr;
}

void FakeStream::Send(v1::CollectorMessage message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!closed_.has_value()) messages_.push_back(std::move(message));
}

void FakeStream::Close(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!closed_.has_value()) closed_ = status;
}

std::vector<v1::Verdict> FakeStream::Verdicts() const {
  std::vector<v1::Verdict> verdicts;
  for (const v1::CollectorMessage& message : Messages()) {
    if (message.has_verdict()) verdicts.push_back(message.verdict());
  }
  return verdicts;
}

v1::Verdict FakeStream::VerdictOn(uint64_t sequence) const {
  v1::Verdict last;
  for (const v1::Verdict& verdict : Verdicts()) {
    if (verdict.sequence() == sequence) last = verdict;
  }
  return last;
}

std::vector<v1::CollectorMessage> FakeStream::Messages() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return messages_;
}

std::optional<absl::Status> FakeStream::closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

v1::AgentMessage Hello(const AgentIdentity& agent) {
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_protocol(1);
  hello.set_incarnation(std::string(16, agent.incarnation));
  v1::NodeInfo& info = *hello.mutable_node_info();
  info.set_node(agent.node);
  info.set_cpus_possible(agent.cpus);
  info.set_cpus_online(agent.cpus);
  info.set_boot_id(std::string(16, 'b'));
  info.set_machine_fingerprint(agent.fingerprint);
  info.set_epoch_length_s(agent.epoch_length_s);
  return message;
}

v1::AgentMessage SchemaMessage() {
  v1::AgentMessage message;
  *message.mutable_schema() = proto::BuiltinSchema();
  return message;
}

v1::SummaryBody Body(int minutes, uint64_t cpu_ns) {
  return BodyEnding(kStart + static_cast<uint64_t>(minutes) * 60 * kSecond, cpu_ns);
}

v1::SummaryBody BodyEnding(uint64_t end_ns, uint64_t cpu_ns) {
  constexpr uint64_t kBoot = 1'700'000'000 * kSecond;
  v1::SummaryBody body;
  v1::Epoch& epoch = *body.mutable_epoch();
  epoch.set_start_unix_ns(end_ns - 60 * kSecond);
  epoch.set_end_unix_ns(end_ns);
  epoch.set_start_mono_ns(end_ns - kBoot - 60 * kSecond);
  epoch.set_end_mono_ns(end_ns - kBoot);
  epoch.set_kind(v1::EPOCH_KIND_FULL);
  epoch.set_length_s(60);
  epoch.set_watched_ns(60 * kSecond);
  epoch.set_clock_error_ns(1'000'000);
  epoch.set_boot_id(std::string(16, 'b'));
  v1::Vital& vital = *body.add_vitals();
  vital.set_id(TELLTALE_CPU);
  vital.set_state(v1::VITAL_STATE_ACTIVE);
  vital.set_quantum(1'000'000);
  vital.set_t_log2(1);
  for (int i = 0; i < TELLTALE_CPU_SUBS; ++i) {
    v1::SubSeries& sub = *vital.add_subs();
    sub.set_events(i == 0 ? 10 : 0);
    sub.set_weight(i == 0 ? cpu_ns : 0);
  }
  return body;
}

v1::AgentMessage Summary(const AgentIdentity& agent, uint64_t sequence, const v1::SummaryBody& body,
                         const v1::SketchCells& cells) {
  v1::Identity identity;
  identity.set_node(agent.node);
  identity.set_incarnation(std::string(16, agent.incarnation));
  identity.set_sequence(sequence);
  const auto summary = proto::EncodeSummary(identity, proto::BuiltinSchema().id(), body, cells);
  EXPECT_TRUE(summary.ok()) << summary.status();
  v1::AgentMessage message;
  if (summary.ok()) *message.mutable_summary() = *summary;
  return message;
}

v1::AgentMessage Summary(const AgentIdentity& agent, uint64_t sequence) {
  return Summary(agent, sequence, Body(static_cast<int>(sequence) - 100));
}

uint64_t LastMinute() {
  constexpr uint64_t kMinute = 60 * kSecond;
  return ingest::SystemClock().UnixNs() / kMinute * kMinute;
}

}  // namespace telltale::testing
