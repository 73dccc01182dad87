#include "agent/supervise/sensor_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/node_info.h"
#include "agent/loop/epoch_source.h"
#include "agent/loop/sensor_loop.h"
#include "agent/spool/disk_writer.h"
#include "agent/supervise/mailbox.h"
#include "agent/supervise/privileges.h"
#include "agent/supervise/sensor_factory.h"
#include "agent/supervise/status_server.h"
#include "agent/supervise/status_text.h"
#include "agent/uplink/clock.h"
#include "proto/codec.h"
#include "spdlog/spdlog.h"
#include "telltale_version.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxNews = 200'000;
constexpr uint64_t kNsPerS = 1'000'000'000;
constexpr int kGoodbyeSeconds = 7;  // for the uplink, after the last epoch was spooled
constexpr int kStopSeconds = 14;    // for everything, then the process ends as it is
constexpr int64_t kMaxOffsetNs = 100LL * 365 * 86'400 * 1'000'000'000;  // a century is a lie

const char* UplinkStateName(uint64_t state) {
  constexpr const char* kNames[] = {"waiting", "connecting", "connected", "finished"};
  return state < 4 ? kNames[state] : "unknown";
}

OwnedFd WatchSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return OwnedFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::string ScopeText(const Config& config) {
  return config.sensor_scope == "host" ? "" : config.sensor_scope.substr(sizeof("cgroup:") - 1);
}

class SensorProcess : public SpoolObserver {
 public:
  SensorProcess(const SensorProcessOptions& options, OwnedFd link)
      : options_(options), link_(std::move(link)), started_ns_(clock_.MonoNs()) {
    start_unix_ns_ = clock_.WallNs();
  }

  int Run(std::unique_ptr<Spool> spool, FileSystem& files) {
    const OwnedFd signals = WatchSignals();
    incarnation_ = spool->incarnation();
    if (absl::Status status = StartSensor(); !status.ok()) return Fail(status);
    auto server = StatusServer::Listen(options_.config.status_socket, [this] { return Answer(); });
    if (!server.ok()) return Fail(server.status());
    disk_ = std::make_unique<DiskWriter>(
        DiskWriter::Options{.node = options_.node, .schema = proto::BuiltinSchema()},
        std::move(spool), Journal(options_.config.spool_dir, files), *this);
    disk_->Start();
    Post({LinkMessage(LinkKind::kReady, {}), {}});
    SensorLoop::Options loop;
    loop.schedule.length_s = options_.config.epoch_s;
    loop_ = std::make_unique<SensorLoop>(loop, *source_, clock_, *disk_);
    loop_->Start();
    const int code = Serve(signals, **server);
    return code == 0 ? Stop() : code;
  }

  // SpoolObserver; disk thread, and before it starts the main thread.
  void OnSpooled(uint64_t sequence, TimeRange time, uint64_t bytes, v1::EpochKind kind) override {
    LinkMessage message(LinkKind::kRecord, {sequence, bytes, time.start_unix_ns, time.end_unix_ns,
                                            static_cast<uint64_t>(kind)});
    // What was there at the start, also a crash's partial epoch, is backlog.
    const bool fresh = kind != v1::EPOCH_KIND_UNSPECIFIED && kind != v1::EPOCH_KIND_PARTIAL;
    if (fresh) message.flags |= LinkMessage::kFresh;
    Post({message, {}});
  }
  void OnHeld(uint64_t sequence, TimeRange time, std::string record, v1::EpochKind kind) override {
    auto file = MakeMemoryFile(record);
    if (!file.ok()) {
      spdlog::error("{}", std::string(file.status().message()));
      return;
    }
    LinkMessage message(LinkKind::kHeld, {sequence, record.size(), time.start_unix_ns,
                                          time.end_unix_ns, static_cast<uint64_t>(kind)});
    message.flags |= LinkMessage::kFresh;
    Post({message, *std::move(file)});
  }
  void OnLost(const v1::Lost& lost) override {
    Post({LinkMessage(
              LinkKind::kLost,
              {lost.first_sequence(), lost.last_sequence(), static_cast<uint64_t>(lost.reason()),
               lost.start_unix_ns(), lost.end_unix_ns()},
              lost.detail()),
          {}});
  }

 private:
  void Post(LinkParcel parcel) {
    if (!news_.Post(std::move(parcel))) {
      spdlog::error(
          "agent: {} messages wait for the uplink, limit reached; an epoch is sent only "
          "after a restart",
          kMaxNews);
    }
  }

  int Fail(const absl::Status& status) {
    spdlog::error("{}", std::string(status.message()));
    return 1;
  }

  absl::Status StartSensor() {
    const Config& config = options_.config;
    if (absl::Status status = BecomeSensor(); !status.ok()) return status;
    auto parts = MakeSensor(config);
    if (!parts.ok()) return parts.status();
    v1::NodeInfo info = ReadNodeInfo("");
    EpochSource::Options source;
    source.sensor = std::move(parts->sensor);
    source.resolver = std::move(parts->resolver);
    source.gauges.agent_pids = {static_cast<uint32_t>(getpid()),
                                static_cast<uint32_t>(options_.uplink_pid)};
    source.gauges.clock_ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    source.gauges.page_size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    source.cutter.bytes.bytes_per_day = static_cast<int64_t>(config.uplink_max_bytes_per_day);
    source.cutter.processes.page_size = source.gauges.page_size;
    source.length_s = config.epoch_s;
    source.boot_id = info.boot_id();
    source.agent_start_unix_ns = start_unix_ns_;
    source.scope = ScopeText(config);
    source_ = std::make_unique<EpochSource>(std::move(source));
    if (absl::Status status = source_->Start(); !status.ok()) return status;
    if (absl::Status status = DropLoadingCapabilities(); !status.ok()) return status;
    vitals_ = source_->Status();
    Describe(info);
    auto file = MakeMemoryFile(info.SerializeAsString());
    if (!file.ok()) return file.status();
    link_.Send(LinkMessage(LinkKind::kNodeInfo, {}), *std::move(file));
    const auto active = std::count_if(vitals_.begin(), vitals_.end(), [](const VitalStatus& vital) {
      return vital.state == VitalState::kActive;
    });
    spdlog::info(
        "agent: node {}, {} sensor on {}, {} of {} vitals active, epochs of {} s, version {}",
        options_.node, config.sensor_kind, config.sensor_scope, active, vitals_.size(),
        config.epoch_s, TELLTALE_VERSION);
    return absl::OkStatus();
  }

  void Describe(v1::NodeInfo& info) const {
    info.set_node(options_.node);
    for (const auto& [key, value] : options_.config.labels) {
      v1::Label& label = *info.add_labels();
      label.set_key(key);
      label.set_value(value);
    }
    info.set_agent_version(TELLTALE_VERSION);
    info.set_schema_id(proto::BuiltinSchema().id());
    for (const VitalStatus& vital : vitals_) {
      v1::VitalStatus& status = *info.add_vitals();
      status.set_id(vital.id);
      status.set_state(static_cast<v1::VitalState>(vital.state));
      status.set_hook(vital.hook);
      status.set_reason(vital.reason);
    }
    info.set_epoch_length_s(options_.config.epoch_s);
    info.set_scope(ScopeText(options_.config));
    info.set_agent_start_unix_ns(start_unix_ns_);
  }

  // 0: a stop was asked for; else the exit code.
  int Serve(const OwnedFd& signals, StatusServer& server) {
    while (true) {
      if (!Exchange().ok()) return UplinkGone();
      pollfd fds[4] = {{signals.get(), POLLIN, 0},
                       {link_.fd(), POLLIN, 0},
                       {news_.fd(), POLLIN, 0},
                       {server.fd(), POLLIN, 0}};
      if (link_.wants_write()) fds[1].events |= POLLOUT;
      poll(fds, 4, 1'000);
      signalfd_siginfo signal = {};
      while (read(signals.get(), &signal, sizeof(signal)) == sizeof(signal)) {
        if (signal.ssi_signo == SIGCHLD) {
          if (UplinkEnded(WNOHANG)) return UplinkGone();
        } else if (signal.ssi_signo == SIGHUP) {
          options_.reload();
        } else {
          return 0;
        }
      }
      server.Serve();
    }
  }

  // Moves messages both ways. Unavailable: the uplink process is gone.
  absl::Status Exchange() {
    for (LinkParcel& parcel : news_.Take()) link_.Send(parcel.message, std::move(parcel.fd));
    absl::Status status = link_.Flush();
    if (!status.ok()) return status;
    auto parcels = link_.Receive();
    if (!parcels.ok()) return parcels.status();
    for (const LinkParcel& parcel : *parcels) Handle(parcel.message);
    return absl::OkStatus();
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
      case LinkKind::kNewStore:
        return loop_->ForgetNamesSent();
      case LinkKind::kUplinkStatus:
        uplink_ = message;
        return;
      default:
        return;
    }
  }

  bool UplinkEnded(int flags) {
    if (uplink_status_ >= 0) return true;
    int status = 0;
    if (waitpid(options_.uplink_pid, &status, flags) != options_.uplink_pid) return false;
    uplink_status_ = status;
    return true;
  }

  int UplinkGone() {
    UplinkEnded(0);
    const std::string how = WIFSIGNALED(uplink_status_)
                                ? absl::StrCat("killed by signal ", WTERMSIG(uplink_status_))
                                : absl::StrCat("exit code ", WEXITSTATUS(uplink_status_));
    spdlog::error("agent: the uplink process (pid {}) ended: {}; ending too, start the agent again",
                  options_.uplink_pid, how);
    loop_->Stop();
    disk_->Stop();
    return 1;
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
    Post({LinkMessage(LinkKind::kStop, {}), {}});
    const uint64_t deadline = clock_.MonoNs() + kGoodbyeSeconds * kNsPerS;
    while (Exchange().ok() && clock_.MonoNs() < deadline) {
      pollfd fd = {link_.fd(), static_cast<short>(POLLIN | (link_.wants_write() ? POLLOUT : 0)), 0};
      poll(&fd, 1, 200);
    }
    disk_->RunPosted();  // verdicts that came since
    if (!UplinkEnded(WNOHANG)) {
      if (clock_.MonoNs() >= deadline) kill(options_.uplink_pid, SIGKILL);
      UplinkEnded(0);
    }
    spdlog::info("agent: stopped, {} epochs stay in the spool", disk_->GetStats().records);
    return 0;
  }

  std::string Answer() const {
    AgentStatus status;
    status.version = TELLTALE_VERSION;
    status.node = options_.node;
    status.collector = options_.config.collector;
    status.sensor = options_.config.sensor_kind;
    status.scope = options_.config.sensor_scope;
    status.config_file = options_.config_file;
    status.uptime_s = (clock_.MonoNs() - started_ns_) / kNsPerS;
    status.epoch_s = options_.config.epoch_s;
    status.incarnation = incarnation_;
    status.vitals = vitals_;
    status.spool = disk_->GetStats();
    status.loop = loop_->GetStats();
    if (uplink_.kind != 0) {
      status.uplink_state = UplinkStateName(uplink_.value[0]);
      status.pending = uplink_.value[1];
      status.in_flight = uplink_.value[2];
      status.stored = uplink_.value[3];
      status.too_late = uplink_.value[4];
      status.refused = uplink_.value[5];
      status.uplink_error = uplink_.Text();
    }
    return StatusJson(status);
  }

  const SensorProcessOptions& options_;
  const SystemClock clock_;
  Link link_;
  const uint64_t started_ns_;
  uint64_t start_unix_ns_ = 0;
  std::string incarnation_;
  Mailbox<LinkParcel> news_{kMaxNews};
  std::unique_ptr<EpochSource> source_;
  std::unique_ptr<DiskWriter> disk_;
  std::unique_ptr<SensorLoop> loop_;
  std::vector<VitalStatus> vitals_;
  LinkMessage uplink_;
  int uplink_status_ = -1;
};

}  // namespace

int RunSensorProcess(const SensorProcessOptions& options, std::unique_ptr<Spool> spool,
                     FileSystem& files, OwnedFd link) {
  prctl(PR_SET_DUMPABLE, 0);
  SensorProcess process(options, std::move(link));
  return process.Run(std::move(spool), files);
}

}  // namespace telltale::agent
