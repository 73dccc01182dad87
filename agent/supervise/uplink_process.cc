#include "agent/supervise/uplink_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "agent/enroll/identity_files.h"
#include "agent/enroll/renewer.h"
#include "agent/host/start_pages.h"
#include "agent/spool/spool_reader.h"
#include "agent/supervise/mailbox.h"
#include "agent/supervise/supervisor.h"
#include "agent/uplink/clock.h"
#include "agent/uplink/grpc_transport.h"
#include "agent/uplink/uplink_logic.h"
#include "config/logging.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxNodeInfoBytes = 1 << 20;
constexpr size_t kMaxSecondBytes = 4'096;  // the collector takes no larger ones
constexpr uint64_t kStatusEveryNs = 1'000 * kNsPerMs;

// Verdicts go back over the link, records come from the directory.
class LinkedSpool : public SpoolSide {
 public:
  LinkedSpool(std::string directory, Link& link) : directory_(std::move(directory)), link_(link) {}

  absl::StatusOr<Record> Read(uint64_t sequence) override {
    return ReadRecord(directory_, sequence);
  }
  void Settled(uint64_t sequence) override { link_.Send({LinkKind::kSettled, {sequence}}); }
  void SetAside(uint64_t sequence, const std::string& reason) override {
    link_.Send({LinkKind::kSetAside, {sequence}, reason});
  }
  void Unreadable(uint64_t sequence) override { link_.Send({LinkKind::kUnreadable, {sequence}}); }
  void LostRecorded(uint64_t first, uint64_t last) override {
    link_.Send({LinkKind::kLostRecorded, {first, last}});
  }
  void NewStore() override { link_.Send({LinkKind::kNewStore, {}}); }
  void ClockMeasured(int64_t offset_ns, uint64_t error_ns) override {
    link_.Send({LinkKind::kClock, {static_cast<uint64_t>(offset_ns), error_ns}});
  }
  void HlcMerged(uint64_t stamp) override { link_.Send({LinkKind::kHlc, {stamp}}); }
  void WatchSeconds(uint32_t seconds) override { link_.Send({LinkKind::kWatch, {seconds}}); }

 private:
  const std::string directory_;
  Link& link_;
};

UplinkLogic::Options LogicOptions(const UplinkProcessOptions& options,
                                  const std::string& incarnation) {
  UplinkLogic::Options logic;
  logic.node = options.node;
  logic.incarnation = incarnation;
  logic.epoch_length_s = options.config.epoch_s;
  logic.collector = options.config.collector;
  logic.reconnect_max_ms = options.config.uplink_reconnect_max_s * 1'000ull;
  logic.random = [generator = std::mt19937_64(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(generator);
  };
  return logic;
}

GrpcTransport::Options TransportOptions(const UplinkProcessOptions& options) {
  const Config& config = options.config;
  return {config.collector,
          config.tls_server_name,
          {config.tls_ca, config.tls_cert, config.tls_key},
          options.node};
}

class UplinkProcess {
 public:
  UplinkProcess(const UplinkProcessOptions& options, OwnedFd link)
      : options_(options),
        link_(std::move(link)),
        spool_(options.config.spool_dir, link_),
        transport_(TransportOptions(options), [this] { (void)wake_.Post(true); }) {}

  int Run() {
    while (!logic_ || !logic_->finished()) {
      if (absl::Status status = Wait(); !status.ok()) return Ended(status);
      auto parcels = link_.Receive();
      if (!parcels.ok()) return Ended(parcels.status());
      for (LinkParcel& parcel : *parcels) Handle(parcel);
      wake_.Take();
      for (GrpcTransport::Event& event : transport_.TakeEvents()) {
        if (event.message) {
          logic_->OnMessage(*event.message);
        } else {
          logic_->OnClosed(event.closed);
        }
      }
      // What was in the spool at the start is one backlog: begin when all of it is known.
      if (ready_) logic_->Tick();
      TellStatus();
      EndStart();
    }
    TellStatus();
    (void)link_.Flush();
    return 0;
  }

 private:
  // With the first stream all has been set up that a connection needs.
  void EndStart() {
    if (started_ || !logic_ || logic_->state() != UplinkLogic::State::kStreaming) return;
    started_ = true;
    LetStartPagesGo();
  }

  absl::Status Wait() {
    absl::Status status = link_.Flush();
    if (!status.ok()) return status;
    const uint64_t now = clock_.MonoNs();
    uint64_t wake_ns = untold_ ? next_status_ns_ : UINT64_MAX;
    if (ready_) wake_ns = std::min(wake_ns, logic_->NextWakeNs());
    const uint64_t wait_ms = wake_ns <= now ? 0 : (wake_ns - now) / kNsPerMs + 1;
    pollfd fds[2] = {{link_.fd(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
    if (link_.wants_write()) fds[0].events |= POLLOUT;
    poll(fds, 2, static_cast<int>(std::min<uint64_t>(wait_ms, 60'000)));
    return absl::OkStatus();
  }

  int Ended(const absl::Status& status) {
    spdlog::warn("uplink: {}; the sensor process is gone, ending too",
                 std::string(status.message()));
    return kUplinkAlone;
  }

  void SetNodeInfo(const LinkParcel& parcel) {
    const auto bytes = ReadMemoryFile(parcel.fd, kMaxNodeInfoBytes);
    v1::NodeInfo info;
    if (!bytes.ok() || !info.ParseFromString(*bytes)) return;
    if (!logic_) {
      const std::string incarnation = absl::HexStringToBytes(parcel.message.Text());
      logic_.emplace(LogicOptions(options_, incarnation), clock_, transport_, spool_);
    }
    logic_->SetNodeInfo(info);
  }

  void SetLogging(const std::string& text) {
    const std::vector<std::string> parts = absl::StrSplit(text, ' ');
    if (parts.size() == 2) config::SetUpLogging(parts[0], parts[1]);
  }

  void Handle(LinkParcel& parcel) {
    const LinkMessage& message = parcel.message;
    const auto& value = message.value;
    if (message.Kind() == LinkKind::kNodeInfo) return SetNodeInfo(parcel);
    if (message.Kind() == LinkKind::kLogging) return SetLogging(message.Text());
    if (!logic_) return;  // who it works for is always said first
    switch (message.Kind()) {
      case LinkKind::kRecord:
        if ((message.flags & LinkMessage::kFresh) == 0)
          return logic_->OnBacklog(value[0], value[1]);
        return logic_->OnFresh(value[0], value[1], value[4] == v1::EPOCH_KIND_SHORT, "");
      case LinkKind::kHeld: {
        auto bytes = ReadMemoryFile(parcel.fd, kMaxRecordBytes);
        if (!bytes.ok()) return;
        return logic_->OnFresh(value[0], value[1], value[4] != v1::EPOCH_KIND_FULL,
                               *std::move(bytes));
      }
      case LinkKind::kLost: {
        v1::Lost lost;
        lost.set_first_sequence(value[0]);
        lost.set_last_sequence(value[1]);
        lost.set_reason(static_cast<v1::Lost::Reason>(value[2]));
        lost.set_start_unix_ns(value[3]);
        lost.set_end_unix_ns(value[4]);
        lost.set_detail(message.Text());
        return logic_->OnLost(lost);
      }
      case LinkKind::kSecond: {
        const auto bytes = ReadMemoryFile(parcel.fd, kMaxSecondBytes);
        v1::Live second;
        if (bytes.ok() && second.ParseFromString(*bytes)) logic_->OnSecond(std::move(second));
        return;
      }
      case LinkKind::kReady:
        ready_ = true;
        return;
      case LinkKind::kStop:
        return logic_->OnStop();
      default:
        return;
    }
  }

  void TellStatus() {
    if (!logic_) return;
    const UplinkLogic::Counts& counts = logic_->counts();
    LinkMessage message(
        LinkKind::kUplinkStatus,
        {static_cast<uint64_t>(logic_->state()), logic_->queue().size(),
         logic_->queue().in_flight(), counts.stored + counts.repeats, counts.too_late,
         counts.refused, counts.apart, logic_->next_attempt_ns(), counts.names_left_out},
        logic_->trouble());
    untold_ = message.kind != told_.kind ||
              !std::equal(std::begin(message.value), std::end(message.value), told_.value) ||
              message.Text() != told_.Text();
    const uint64_t now = clock_.MonoNs();
    if (!untold_ || (now < next_status_ns_ && !logic_->finished())) return;
    next_status_ns_ = now + kStatusEveryNs;
    untold_ = false;
    told_ = message;
    link_.Send(message);
  }

  const UplinkProcessOptions& options_;
  const SystemClock clock_;
  Link link_;
  Mailbox<bool> wake_{1};
  LinkedSpool spool_;
  GrpcTransport transport_;
  std::optional<UplinkLogic> logic_;  // once it is told for whom
  bool ready_ = false;
  bool started_ = false;  // there was a stream
  uint64_t next_status_ns_ = 0;
  bool untold_ = false;  // the status is another than the one told last
  LinkMessage told_;
};

}  // namespace

int RunUplinkProcess(const UplinkProcessOptions& options, OwnedFd link) {
  prctl(PR_SET_NAME, "telltale-uplink");
  RequireTls13();
  QuietGrpc();
  if (absl::Status status = BecomeUplink(options.account); !status.ok()) {
    spdlog::error("{}", std::string(status.message()));
    return kUplinkCannotStart;
  }
  // A change of the user has cleared it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A stop is told over the link, after the last epoch was cut; a terminal's Ctrl-C reaches all.
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_DUMPABLE, 0);
  const GrpcTransport::Options transport = TransportOptions(options);
  FinishIdentity(transport.tls);
  Renewer renewer({.collector = {transport.collector, transport.name_check},
                   .files = transport.tls,
                   .node = options.node});
  if (options.config.enroll_renew) renewer.Start();
  UplinkProcess process(options, std::move(link));
  return process.Run();
}

}  // namespace telltale::agent
