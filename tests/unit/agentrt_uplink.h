// The logic of the uplink with a clock, a stream and a spool that a test plays. No network, no
// waiting.

#ifndef TELLTALE_TESTS_UNIT_AGENTRT_UPLINK_H_
#define TELLTALE_TESTS_UNIT_AGENTRT_UPLINK_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/uplink/uplink_logic.h"
#include "tests/unit/agentrt_support.h"

namespace telltale::agent {

inline constexpr uint64_t kSecond = 1'000'000'000;

class FakeClock : public Clock {
 public:
  uint64_t WallNs() const override { return wall; }
  uint64_t MonoNs() const override { return mono; }
  void Pass(uint64_t ns) { wall += ns, mono += ns; }
  uint64_t wall = kTestStartNs + 1'000 * kTestEpochNs, mono = 5'000 * kSecond;
};

class FakeTransport : public Transport {
 public:
  void Open() override { ++opened; }
  void Send(v1::AgentMessage message) override { sent.push_back(std::move(message)); }
  void Finish() override { finished = true; }
  void Abort() override { ++aborted; }
  std::vector<uint64_t> Summaries() {
    std::vector<uint64_t> sequences;
    for (const auto& message : sent) {
      if (message.has_summary()) sequences.push_back(message.summary().identity().sequence());
    }
    sent.clear();
    return sequences;
  }
  int opened = 0, aborted = 0;
  bool finished = false;
  std::vector<v1::AgentMessage> sent;
};

class FakeSpool : public SpoolSide {
 public:
  absl::StatusOr<Record> Read(uint64_t sequence) override {
    if (missing.contains(sequence)) return absl::NotFoundError("gone");
    if (damaged.contains(sequence)) return absl::DataLossError("damaged");
    return MakeTestRecord(sequence);
  }
  void Settled(uint64_t sequence) override { settled.insert(sequence); }
  void SetAside(uint64_t sequence, const std::string& reason) override { aside[sequence] = reason; }
  void Unreadable(uint64_t sequence) override { unreadable.insert(sequence); }
  void LostRecorded(uint64_t first, uint64_t last) override { recorded.insert({first, last}); }
  void NewStore() override { ++new_stores; }
  void ClockMeasured(int64_t offset, uint64_t error) override {
    offset_ns = offset, error_ns = error;
  }
  void HlcMerged(uint64_t stamp) override { hlc = stamp; }
  void WatchSeconds(uint32_t seconds) override { watched.push_back(seconds); }
  std::set<uint64_t> missing, damaged, settled, unreadable;
  std::map<uint64_t, std::string> aside;
  std::set<std::pair<uint64_t, uint64_t>> recorded;
  std::vector<uint32_t> watched;
  int new_stores = 0;
  int64_t offset_ns = 0;
  uint64_t error_ns = 0, hlc = 0;
};

class UplinkTest : public ::testing::Test {
 protected:
  UplinkTest() {
    options_.node = kTestNode;
    options_.incarnation = std::string(16, '\x5a');
    options_.collector = "collector:7410";
    options_.random = [this] { return random_; };
  }
  UplinkLogic& logic() {
    if (!logic_) {
      logic_ = std::make_unique<UplinkLogic>(options_, clock_, transport_, spool_);
      logic_->SetNodeInfo({});
    }
    return *logic_;
  }
  void Welcome(uint64_t received_through = 0, uint32_t spread_s = 40) {
    logic().Tick();
    v1::CollectorMessage message;
    message.mutable_welcome()->set_store_id("store-1");
    message.mutable_welcome()->set_received_through(received_through);
    message.mutable_welcome()->mutable_settings()->set_spread_s(spread_s);
    logic().OnMessage(message);
    ASSERT_EQ(logic().state(), UplinkLogic::State::kStreaming);
    transport_.sent.clear();
  }
  void Say(uint64_t sequence, v1::Verdict::Kind kind, bool permanent = false,
           uint32_t retry_ms = 0) {
    v1::CollectorMessage message;
    v1::Verdict& verdict = *message.mutable_verdict();
    verdict.set_sequence(sequence);
    verdict.set_kind(kind);
    verdict.set_permanent(permanent);
    verdict.set_retry_after_ms(retry_ms);
    verdict.set_reason("because");
    logic().OnMessage(message);
  }
  // Ticks once a tenth of a second; what was sent.
  std::vector<uint64_t> Run(uint64_t seconds) {
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i <= seconds * 10; ++i) {
      logic().Tick();
      AnswerProbes();
      for (const uint64_t sequence : transport_.Summaries()) all.push_back(sequence);
      clock_.Pass(kSecond / 10);
    }
    return all;
  }
  void AnswerProbes() {
    for (const auto& message : transport_.sent) {
      if (!message.has_probe()) continue;
      v1::CollectorMessage reply;
      reply.mutable_probe_reply()->set_sent_unix_ns(message.probe().sent_unix_ns());
      reply.mutable_probe_reply()->set_received_unix_ns(message.probe().sent_unix_ns() + ahead_ns_);
      reply.mutable_probe_reply()->set_replied_unix_ns(message.probe().sent_unix_ns() + ahead_ns_);
      logic().OnMessage(reply);
    }
  }

  UplinkLogic::Options options_;
  FakeClock clock_;
  FakeTransport transport_;
  FakeSpool spool_;
  double random_ = 0.5;
  int64_t ahead_ns_ = 0;
  std::unique_ptr<UplinkLogic> logic_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_TESTS_UNIT_AGENTRT_UPLINK_H_
