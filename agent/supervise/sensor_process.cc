#include "agent/supervise/sensor_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/clock_ns.h"
#include "agent/host/node_info.h"
#include "agent/host/start_pages.h"
#include "agent/loop/epoch_source.h"
#include "agent/loop/sensor_loop.h"
#include "agent/spool/disk_writer.h"
#include "agent/supervise/privileges.h"
#include "agent/supervise/sensor_factory.h"
#include "agent/supervise/starvation_guard.h"
#include "agent/supervise/status_server.h"
#include "agent/supervise/status_text.h"
#include "agent/supervise/uplink_port.h"
#include "agent/uplink/clock.h"
#include "agent/vitals/vitals.h"
#include "config/logging.h"
#include "proto/codec.h"
#include "proto/schema.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"
#include "telltale_version.h"

namespace telltale::agent {
namespace {

constexpr int kFailed = 1;
constexpr uint64_t kLookEveryNs = 10 * kNsPerS;
constexpr uint64_t kAliveAgainNs = kNsPerS;  // after it was found to hang
constexpr int kGoodbyeSeconds = 7;           // for the uplink, after the last epoch was spooled
constexpr int kStopSeconds = 14;             // for everything, then the process ends as it is
constexpr uint64_t kMaxWatchSeconds = 60;
constexpr int64_t kMaxOffsetNs = 100LL * 365 * 86'400 * 1'000'000'000;  // a century is a lie

OwnedFd WatchSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return OwnedFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  // At most 256 bytes are never given in part once the kernel's generator is seeded; it waits for
  // that.
  if (getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) std::abort();
  return bytes;
}

class SensorProcess {
 public:
  SensorProcess(const SensorProcessOptions& options, OwnedFd supervisor)
      : options_(options),
        config_(options.config),
        supervisor_(std::move(supervisor)),
        started_(ReadTogether(clock_)) {}

  int Run() {
    const OwnedFd signals = WatchSignals();
    auto spool = Spool::Open({.directory = config_.spool_dir,
                              .max_bytes = config_.spool_max_bytes,
                              .random_bytes = RandomBytes},
                             files_);
    if (!spool.ok()) return Fail(spool.status());
    incarnation_ = (*spool)->incarnation();
    if (absl::Status status = StartSensor(); !status.ok()) return Fail(status);
    auto server = StatusServer::Listen(config_.status_socket, [this] { return Answer(); });
    if (!server.ok()) return Fail(server.status());
    disk_ = std::make_unique<DiskWriter>(
        DiskWriter::Options{.node = options_.node, .schema = proto::SchemaOf(Vitals())},
        *std::move(spool), Journal(config_.spool_dir, files_), uplink_);
    disk_->Start();
    SensorLoop::Options loop;
    loop.schedule.length_s = config_.epoch_s;
    loop.on_second = [this](const v1::Live& second) { uplink_.PostSecond(second); };
    loop_ = std::make_unique<SensorLoop>(loop, *source_, clock_, *disk_);
    loop_->Start();
    supervisor_.Send(LinkMessage(LinkKind::kWatching, {}));
    LetStartPagesGo();
    return Serve(signals, **server) ? Stop() : kFailed;
  }

 private:
  void Say(const absl::Status& status) { spdlog::error("{}", std::string(status.message())); }
  int Fail(const absl::Status& status) {
    Say(status);
    return kFailed;
  }

  absl::Status StartSensor() {
    if (absl::Status status = BecomeSensor(); !status.ok()) return status;
    auto parts = MakeSensor(config_, [this] { return AgentCpuNs(); });
    if (!parts.ok()) return parts.status();
    host_ = ReadNodeInfo("");
    if (host_.boot_id().empty()) {
      return absl::FailedPreconditionError(
          "agent: /proc/sys/kernel/random/boot_id cannot be read, and epochs are told apart by it; "
          "mount /proc here");
    }
    EpochSource::Options source;
    source.sensor = std::move(parts->sensor);
    source.resolver = std::move(parts->resolver);
    source.gauges.agent_pids = [this] { return AgentPids(); };
    source.gauges.clock_ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    source.gauges.page_size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    if (config_.sensor_kind == "bpf") source.host_root = "";
    source.cutter.cells = config_.uplink_cells;
    source.cutter.bytes.bytes_per_day = static_cast<int64_t>(config_.uplink_max_bytes_per_day);
    source.cutter.processes.page_size = source.gauges.page_size;
    source.length_s = config_.epoch_s;
    source.boot_id = host_.boot_id();
    source.agent_start = {started_.wall_ns, started_.mono_ns, TELLTALE_VERSION};
    source.scope = ScopeOf(config_);
    source_ = std::make_unique<EpochSource>(std::move(source));
    if (absl::Status status = source_->Start(); !status.ok()) return status;
    StartGuard();
    if (absl::Status status = DropLoadingCapabilities(); !status.ok()) return status;
    vitals_ = source_->Status();
    const auto active = std::count_if(vitals_.begin(), vitals_.end(), [](const VitalStatus& vital) {
      return vital.state == VitalState::kActive;
    });
    spdlog::info(
        "agent: node {}, {} sensor on {}, {} of {} vitals active, epochs of {} s, version {}",
        options_.node, config_.sensor_kind, config_.sensor_scope, active, vitals_.size(),
        config_.epoch_s, TELLTALE_VERSION);
    for (const SourceStatus& heard : source_->Sources()) {
      if (heard.state != VitalState::kActive) spdlog::warn("sensor: {}", SourceText(heard));
    }
    return absl::OkStatus();
  }

  void StartGuard() {
    const absl::Status status = guard_.Start();
    if (status.ok()) return;
    spdlog::info(
        "{}; where ordinary tasks get no CPU the agent may overdraw its budget and cut late",
        std::string(status.message()));
  }

  v1::NodeInfo Describe() const {
    v1::NodeInfo info = host_;
    info.set_node(options_.node);
    for (const auto& [key, value] : config_.labels) {
      v1::Label& label = *info.add_labels();
      label.set_key(key);
      label.set_value(value);
    }
    info.set_agent_version(TELLTALE_VERSION);
    info.set_schema_id(proto::SchemaOf(Vitals()).id());
    for (const VitalStatus& vital : vitals_) {
      v1::VitalStatus& status = *info.add_vitals();
      status.set_id(vital.id);
      status.set_state(static_cast<v1::VitalState>(vital.state));
      status.set_hook(vital.hook);
      status.set_reason(vital.reason);
    }
    info.set_epoch_length_s(config_.epoch_s);
    info.set_scope(ScopeOf(config_));
    info.set_agent_start_unix_ns(started_.wall_ns);
    return info;
  }

  void TellNodeInfo() {
    told_ = Describe().SerializeAsString();
    auto file = MakeMemoryFile(told_);
    if (!file.ok()) return Say(file.status());
    uplink_.Send(LinkMessage(LinkKind::kNodeInfo, {}, absl::BytesToHexString(incarnation_)),
                 *std::move(file));
  }

  // CPUs go offline, a clock source is given up: told when it happens. Vitals change their rung:
  // told with the epoch.
  void TellChanges() {
    const uint64_t now = clock_.MonoNs();
    if (now < next_look_ns_) return;
    next_look_ns_ = now + kLookEveryNs;
    SensorLoop::Stats loop = loop_->GetStats();
    // Once an epoch: what the governor does in between is told with it, and each change is a write
    // at the collector.
    const uint64_t cuts = loop.epochs + loop.failed_cuts;
    if (cuts != cuts_seen_ && !loop.vitals.empty()) {
      cuts_seen_ = cuts;
      vitals_ = std::move(loop.vitals);
    }
    host_ = ReadNodeInfo("", &host_);
    if (uplink_.open() && Describe().SerializeAsString() != told_) TellNodeInfo();
  }

  // The supervisor hears nothing while the loop hangs.
  void TellAlive() {
    const uint64_t now = clock_.MonoNs();
    if (now < next_alive_ns_) return;
    const uint64_t rounds = loop_->GetStats().rounds;
    const bool hangs = std::exchange(rounds_told_, rounds) == rounds;
    next_alive_ns_ = now + (hangs ? kAliveAgainNs : options_.alive_every_ns);
    if (hangs) return;
    supervisor_.Send(LinkMessage(LinkKind::kWatching, {}));
  }

  // Until a stop is asked for; false: it cannot go on.
  bool Serve(const OwnedFd& signals, StatusServer& server) {
    while (true) {
      if (absl::Status status = HearSupervisor(); !status.ok()) {
        Say(status);
        return false;
      }
      Exchange();
      TellChanges();
      TellAlive();
      const auto asked = static_cast<short>(POLLIN | (supervisor_.wants_write() ? POLLOUT : 0));
      pollfd fds[] = {{signals.get(), POLLIN, 0},
                      {supervisor_.fd(), asked, 0},
                      {server.fd(), POLLIN, 0},
                      uplink_.news_poll(),
                      uplink_.link_poll()};
      const uint64_t now = clock_.MonoNs(), until = std::min(next_look_ns_, next_alive_ns_);
      poll(fds, std::size(fds), until <= now ? 0 : static_cast<int>((until - now) / kNsPerMs + 1));
      signalfd_siginfo signal = {};
      while (read(signals.get(), &signal, sizeof(signal)) == sizeof(signal)) {
        if (signal.ssi_signo != SIGHUP) return true;
        Reload();
      }
      server.Serve();
    }
  }

  absl::Status HearSupervisor() {
    if (absl::Status status = supervisor_.Flush(); !status.ok()) return status;
    auto parcels = supervisor_.Receive();
    if (!parcels.ok()) return parcels.status();
    for (LinkParcel& parcel : *parcels) {
      if (parcel.message.Kind() != LinkKind::kUplinkStarted) continue;
      uplink_pid_ = static_cast<uint32_t>(parcel.message.value[0]);
      uplink_.Open(std::move(parcel.fd));
      TellNodeInfo();
      disk_->Announce();
    }
    return absl::OkStatus();
  }

  void Exchange() {
    for (const LinkMessage& message : uplink_.Exchange()) Handle(message);
  }

  // The supervisor has said what changed and what needs a restart.
  void Reload() {
    const auto fresh = options_.reload();
    if (!fresh.ok()) return;
    config_.log_level = fresh->log_level;
    config_.log_format = fresh->log_format;
    config::SetUpLogging(config_.log_level, config_.log_format);
    uplink_.Send(LinkMessage(LinkKind::kLogging, {},
                             absl::StrCat(config_.log_level, " ", config_.log_format)));
    config_.labels = fresh->labels;
    next_look_ns_ = 0;
    spdlog::debug("sensor: labels and logging are as read again");
  }

  void Handle(const LinkMessage& message) {
    const auto& value = message.value;
    switch (message.Kind()) {
      case LinkKind::kSettled:
        return disk_->Settle(value[0]);
      case LinkKind::kSetAside:
        return disk_->SetAside(value[0], proto::SanitizeText(message.Text(), 160));
      case LinkKind::kUnreadable:
        return disk_->Check(value[0]);
      case LinkKind::kLostRecorded:
        return disk_->LostRecorded(value[0], value[1]);
      case LinkKind::kClock: {
        const auto offset = static_cast<int64_t>(value[0]);
        if (offset < kMaxOffsetNs && offset > -kMaxOffsetNs) loop_->SetClock(offset, value[1]);
        return;
      }
      case LinkKind::kHlc:
        return loop_->MergeHlc(value[0]);
      case LinkKind::kWatch:
        return loop_->Watch(static_cast<uint32_t>(std::min(value[0], kMaxWatchSeconds)));
      case LinkKind::kNewStore:
        return loop_->ForgetNamesSent();
      default:
        return;
    }
  }

  std::vector<uint32_t> AgentPids() const {
    std::vector<uint32_t> pids = {static_cast<uint32_t>(getppid()),
                                  static_cast<uint32_t>(getpid())};
    if (const uint32_t uplink = uplink_pid_; uplink != 0) pids.push_back(uplink);
    return pids;
  }

  // Of all its processes, while they run.
  uint64_t AgentCpuNs() const {
    uint64_t sum = 0;
    for (const uint32_t pid : AgentPids()) {
      clockid_t clock = 0;
      if (clock_getcpuclockid(static_cast<pid_t>(pid), &clock) == 0) sum += ClockNs(clock);
    }
    return sum;
  }

  // A hung disk or collector must not keep the agent from ending.
  int Stop() {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(kStopSeconds));
      spdlog::error("agent: stop took longer than {} s (disk hung?); ending with what is written",
                    kStopSeconds);
      _exit(1);
    }).detach();
    spdlog::info("agent: stopping: the running epoch is cut and sent first");
    loop_->Stop();
    disk_->Stop();  // the news of the last epoch are in the mailbox now
    uplink_.PostStop();
    const uint64_t deadline = clock_.MonoNs() + kGoodbyeSeconds * kNsPerS;
    for (Exchange(); uplink_.open() && clock_.MonoNs() < deadline; Exchange()) {
      pollfd fd = uplink_.link_poll();
      poll(&fd, 1, 200);
    }
    disk_->RunPosted();  // verdicts that came since
    spdlog::info("agent: stopped, {} epochs stay in the spool", disk_->GetStats().records);
    return 0;
  }

  std::string Answer() const {
    AgentStatus status;
    status.version = TELLTALE_VERSION;
    status.node = options_.node;
    status.collector = config_.collector;
    status.sensor = config_.sensor_kind;
    status.scope = config_.sensor_scope;
    status.config_file = options_.config_file;
    status.mono_ns = clock_.MonoNs();
    status.uptime_s = (status.mono_ns - started_.mono_ns) / kNsPerS;
    status.epoch_s = config_.epoch_s;
    status.incarnation = incarnation_;
    status.spool = disk_->GetStats();
    status.loop = loop_->GetStats();
    status.vitals = status.loop.vitals.empty() ? vitals_ : status.loop.vitals;
    status.uplink = uplink_.status();
    status.starvation = guard_.GetStats();
    return StatusJson(status);
  }

  const SensorProcessOptions& options_;
  Config config_;
  const SystemClock clock_;
  PosixFileSystem files_;
  Link supervisor_;
  const ClockPair started_;
  std::string incarnation_;
  v1::NodeInfo host_;  // as read last
  std::string told_;   // the NodeInfo the uplink has
  uint64_t next_look_ns_ = 0;
  uint64_t next_alive_ns_ = 0, rounds_told_ = 0;
  std::vector<VitalStatus> vitals_;       // as told last
  uint64_t cuts_seen_ = 0;                // when they were
  std::atomic<uint32_t> uplink_pid_ = 0;  // the sensor thread reads it
  UplinkPort uplink_;
  std::unique_ptr<EpochSource> source_;
  std::unique_ptr<DiskWriter> disk_;
  std::unique_ptr<SensorLoop> loop_;
  StarvationGuard guard_{{}};
};

}  // namespace

int RunSensorProcess(const SensorProcessOptions& options, OwnedFd supervisor) {
  prctl(PR_SET_NAME, "telltale-sensor");
  prctl(PR_SET_DUMPABLE, 0);
  SensorProcess process(options, std::move(supervisor));
  return process.Run();
}

}  // namespace telltale::agent
