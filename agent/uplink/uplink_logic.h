// What the uplink does, without how: when to connect, what to send next, what each answer of the
// collector means. Knows neither gRPC nor sockets; the clock, the stream and the spool are handed
// in.
//
// One thread: every method is called by the uplink's main loop, which calls Tick when NextWakeNs
// has come. Nothing here blocks except reading a record's file.

#ifndef TELLTALE_AGENT_UPLINK_UPLINK_LOGIC_H_
#define TELLTALE_AGENT_UPLINK_UPLINK_LOGIC_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/spool/record.h"
#include "agent/uplink/clock.h"
#include "agent/uplink/clock_offset.h"
#include "agent/uplink/hlc.h"
#include "agent/uplink/send_queue.h"
#include "agent/uplink/transport.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::agent {

// The other side of the spool: where records come from and where verdicts go.
class SpoolSide {
 public:
  virtual ~SpoolSide() = default;
  // See ReadRecord in spool/spool_reader.h.
  virtual absl::StatusOr<Record> Read(uint64_t sequence) = 0;
  virtual void Settled(uint64_t sequence) = 0;
  virtual void SetAside(uint64_t sequence, const std::string& reason) = 0;
  virtual void Unreadable(uint64_t sequence) = 0;
  virtual void LostRecorded(uint64_t first, uint64_t last) = 0;
  // Another collector store answers than before: it knows no names.
  virtual void NewStore() = 0;
  virtual void ClockMeasured(int64_t offset_ns, uint64_t error_ns) = 0;
  virtual void HlcMerged(uint64_t stamp) = 0;
  // Somebody looks: each second is to be told for so long from now. At most a minute.
  virtual void WatchSeconds(uint32_t seconds) = 0;
};

class UplinkLogic {
 public:
  struct Options {
    std::string node;
    std::string incarnation;  // 16 bytes
    uint32_t epoch_length_s = 60;
    std::string collector;           // for messages to people
    std::function<double()> random;  // uniform in [0, 1)
    // Longest pause between attempts: a quarter of the time without a stream, within these, so that
    // a restarted collector is found about as fast as it came back, and a fleet that was long
    // without one comes back over the last.
    uint64_t reconnect_base_ms = 1'000;
    uint64_t reconnect_max_ms = 60'000;
    // How long a greeting waits for its answer, as many may connect at once: each one given up
    // doubles it, up to the longest, until one is answered. Were it fixed, a crowd that a busy
    // collector cannot greet within it would come anew again and again, and none would get in.
    uint64_t welcome_timeout_ms = 60'000;
    uint64_t welcome_timeout_max_ms = 480'000;
    uint64_t verdict_timeout_ms = 120'000;
    uint64_t max_future_ms = 300'000;  // an epoch further ahead of the collector stays here
    uint64_t goodbye_timeout_ms = 5'000;
  };
  enum class State { kWaiting, kGreeting, kStreaming, kFinished };
  struct Counts {
    uint64_t stored = 0, repeats = 0, too_late = 0, refused = 0, retried = 0, connects = 0;
    uint64_t apart = 0;  // of those stored: in no answer, in a clone conflict
    uint64_t hlc_refused = 0, unreadable = 0;
    uint64_t names_left_out = 0;  // in messages larger than the collector takes
  };

  // All outlive the logic.
  UplinkLogic(Options options, const Clock& clock, Transport& transport, SpoolSide& spool);

  // From the spool.
  void SetNodeInfo(const v1::NodeInfo& info);
  void OnBacklog(uint64_t sequence, uint64_t bytes);
  // A new epoch. `at_once`: not spread, as the first and the last one. `held_record`: where there
  // is no file.
  void OnFresh(uint64_t sequence, uint64_t bytes, bool at_once, std::string held_record);
  void OnLost(const v1::Lost& lost);
  // A second somebody looks at; without a stream it is gone.
  void OnSecond(v1::Live second);
  // A planned stop: send what is fresh, say goodbye. finished() turns true, at the latest after
  // goodbye_timeout_ms.
  void OnStop();

  // From the stream.
  void OnMessage(const v1::CollectorMessage& message);
  void OnClosed(const absl::Status& status);

  void Tick();
  uint64_t NextWakeNs() const;  // CLOCK_MONOTONIC

  bool finished() const { return state_ == State::kFinished; }
  State state() const { return state_; }
  const Counts& counts() const { return counts_; }
  const SendQueue& queue() const { return queue_; }
  // What is wrong now, for people: no stream, or what is sent is kept apart; empty: nothing.
  const std::string& trouble() const { return last_error_.empty() ? apart_ : last_error_; }
  // When the next attempt to connect is due; 0: not waiting for one. CLOCK_MONOTONIC.
  uint64_t next_attempt_ns() const { return state_ == State::kWaiting ? reconnect_at_ns_ : 0; }
  const ClockOffset& clock_offset() const { return offset_; }

  // Delay after a cut, the same for the life of a spool: spreads the fleet's sending over
  // `spread_s`, but leaves the last twelfth of an epoch free, so that it is there before the next.
  static uint64_t SpreadNs(const std::string& node, const std::string& incarnation,
                           uint32_t spread_s, uint32_t epoch_length_s);

 private:
  void Connect();
  void OnWelcome(const v1::Welcome& welcome);
  void ApplySettings(const v1::Settings& settings);
  void OnVerdict(const v1::Verdict& verdict);
  void OnProbeReply(const v1::ProbeReply& reply);
  void OnCommand(const v1::Command& command);
  void SendProbe();
  void SendLost();
  void SendDue();
  void SendRecord(uint64_t sequence);
  void SendNames(uint64_t sequence, v1::Names names);
  bool HeldByFuture(const Record& record, uint64_t now_ns);
  void SayGoodbye();
  void Fail(const std::string& why);
  void Disconnected(const std::string& why);
  uint64_t JitteredDelayNs(uint64_t now_ns) const;
  uint64_t WelcomeTimeoutMs() const;

  const Options options_;
  const Clock& clock_;
  Transport& transport_;
  SpoolSide& spool_;

  State state_ = State::kWaiting;
  v1::NodeInfo node_info_;
  bool has_node_info_ = false;
  SendQueue queue_;
  v1::Settings settings_;
  uint64_t newest_sequence_ = 0;
  std::map<uint64_t, v1::Lost> lost_;  // by first sequence, not recorded yet

  // Of the stream.
  std::set<uint64_t> schemas_sent_, names_sent_;
  std::set<uint64_t> lost_sent_;  // first sequences
  uint64_t greeting_deadline_ns_ = 0, streaming_since_ns_ = 0;
  uint64_t next_probe_ns_ = 0, probe_sent_unix_ns_ = 0, probe_sent_ns_ = 0;
  uint32_t probes_sent_ = 0;

  uint64_t reconnect_at_ns_ = 0;
  uint32_t greetings_given_up_ = 0;  // since the last that was answered
  uint64_t alone_since_ns_ = 0;  // without a stream that lasted; 0: there is one, or none was tried
  std::string store_id_;
  ClockOffset offset_;
  Hlc hlc_;
  bool stopping_ = false, goodbye_sent_ = false;
  uint64_t stop_deadline_ns_ = 0;
  Counts counts_;
  std::string last_error_;
  std::string apart_;  // why the last summary was kept apart; empty: it was not
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_UPLINK_LOGIC_H_
