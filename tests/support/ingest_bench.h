// What tests of ingest work with: a clock they turn, a store in memory that can be told to fail, a
// stream that remembers what it was sent, and valid messages of a synthetic agent. One thread,
// unless a test says otherwise.

#ifndef TELLTALE_TESTS_SUPPORT_INGEST_BENCH_H_
#define TELLTALE_TESTS_SUPPORT_INGEST_BENCH_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collector/ingest/clock.h"
#include "collector/ingest/ingest_core.h"
#include "collector/ingest/ingest_store.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "storage/node_registry.h"
#include "storage/summary_store.h"

namespace telltale::testing {

inline constexpr uint64_t kSecond = 1'000'000'000;
// 2026-11-18 17:00:00 UTC, an epoch boundary.
inline constexpr uint64_t kStart = 1'795'021'200ull * kSecond;

class TurnedClock final : public ingest::Clock {
 public:
  uint64_t UnixNs() const override { return unix_ns_; }
  uint64_t MonoNs() const override { return mono_ns_; }
  void Advance(uint64_t ns) {
    unix_ns_ += ns;
    mono_ns_ += ns;
  }

 private:
  std::atomic<uint64_t> unix_ns_{kStart};
  std::atomic<uint64_t> mono_ns_{1000 * kSecond};
};

// The real summary store over memory.
class MemoryIngestStore final : public ingest::IngestStore {
 public:
  explicit MemoryIngestStore(const TurnedClock* clock, size_t max_nodes = 1000,
                             uint64_t name_bytes = 1 << 20);

  // As after a restart: what was only in memory is gone.
  void Reopen();

  // Before each PutBatch; an error is its result.
  std::function<absl::Status()> before_put;
  // After a successful PutBatch, before ingest hears of it.
  std::function<void()> after_put;
  // Before each RollUp.
  std::function<void()> before_roll_up;
  std::atomic<uint64_t> batches = 0;
  std::atomic<uint64_t> stops = 0;  // recorded

  storage::SummaryStore& summaries() { return *summaries_; }
  storage::NodeRecord Node(const std::string& name) const;

  std::string StoreId() const override { return "0123456789abcdef"; }
  storage::NodeList Nodes() const override;
  std::optional<storage::NodeRecord> Find(uint32_t node) const override;
  absl::StatusOr<uint32_t> NumberOf(const std::string& name) override;
  absl::Status UpdateNode(uint32_t node, storage::Durability durability,
                          const std::function<void(storage::NodeRecord&)>& change) override;
  absl::StatusOr<std::vector<storage::Outcome>> PutBatch(
      std::span<const storage::Incoming> batch) override;
  void KeepBody(uint32_t node, const storage::Incarnation& incarnation, uint64_t sequence,
                proto::OpenBody body) override;
  // Sequences of the bodies kept open, in order.
  std::vector<uint64_t> kept() const {
    const std::lock_guard<std::mutex> lock(kept_mutex_);
    return kept_;
  }
  absl::Status DeclareLost(uint32_t node, const storage::Incarnation& incarnation,
                           const storage::LostRange& lost) override;
  absl::Status RecordStop(uint32_t node, const storage::PlannedStop& stop) override;
  absl::Status Decided(uint32_t node) override;
  absl::Status PutNames(uint32_t node, const v1::Names& names) override;
  absl::Status PutSchema(uint32_t node, const v1::Schema& schema) override;
  uint64_t ReceivedThrough(uint32_t node, const storage::Incarnation& incarnation) const override;
  absl::StatusOr<std::shared_ptr<const v1::Schema>> Schema(uint64_t id) const override;
  absl::StatusOr<uint32_t> RollUp(std::span<const uint32_t> nodes, uint64_t now_ns,
                                  uint32_t max_windows, uint64_t* expired) override;

 private:
  const TurnedClock* const clock_;
  const size_t max_nodes_;
  const uint64_t name_bytes_;
  storage::MemoryHistory history_;
  storage::MemoryCatalog catalog_;
  std::unique_ptr<storage::NodeRegistry> registry_;
  std::unique_ptr<storage::Dictionary> dictionary_;
  std::unique_ptr<storage::SummaryStore> summaries_;
  mutable std::mutex kept_mutex_;
  std::vector<uint64_t> kept_;  // guarded by kept_mutex_
  mutable std::mutex schemas_mutex_;
  std::map<uint64_t, std::shared_ptr<const v1::Schema>> schemas_;  // guarded by schemas_mutex_
};

// One stream, from the agent's side.
class FakeStream final : public ingest::StreamSink {
 public:
  FakeStream() = default;
  ~FakeStream() override { Disconnect(); }
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  // `core` outlives this.
  std::shared_ptr<ingest::Session> Open(ingest::IngestCore& core, const std::string& node);
  void Disconnect();

  void Send(v1::CollectorMessage message) override;
  void Close(const absl::Status& status) override;
  void ResumeReading() override { ++resumed; }

  std::vector<v1::Verdict> Verdicts() const;
  // The last verdict on a sequence; KIND_UNSPECIFIED: none yet.
  v1::Verdict VerdictOn(uint64_t sequence) const;
  std::vector<v1::CollectorMessage> Messages() const;
  std::optional<absl::Status> closed() const;

  std::atomic<int> resumed = 0;

 private:
  ingest::IngestCore* core_ = nullptr;
  std::shared_ptr<ingest::Session> session_;
  mutable std::mutex mutex_;
  std::vector<v1::CollectorMessage> messages_;  // guarded by mutex_
  std::optional<absl::Status> closed_;          // guarded by mutex_
};

// Who a synthetic agent is.
struct AgentIdentity {
  std::string node = "web-1";
  char incarnation = 'a';  // 16 times
  std::string fingerprint = {};
  uint32_t cpus = 4;
  uint32_t epoch_length_s = 60;
};

v1::AgentMessage Hello(const AgentIdentity& agent);
v1::AgentMessage SchemaMessage();
// An epoch of a minute that ended at `end_ns`; `cpu_ns` is its weight of the vital cpu.
v1::SummaryBody BodyEnding(uint64_t end_ns, uint64_t cpu_ns = 5'000'000'000);
// The same, `minutes` after kStart.
v1::SummaryBody Body(int minutes, uint64_t cpu_ns = 5'000'000'000);
v1::AgentMessage Summary(const AgentIdentity& agent, uint64_t sequence, const v1::SummaryBody& body,
                         const v1::SketchCells& cells = {});
v1::AgentMessage Summary(const AgentIdentity& agent, uint64_t sequence);
// For a collector with a real clock: the last whole minute of today's clock.
uint64_t LastMinute();

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_INGEST_BENCH_H_
