#include "collector/collector.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collector/access/access_service.h"
#include "collector/access/audit_log.h"
#include "collector/access/gate.h"
#include "collector/access/token_book.h"
#include "collector/control_socket.h"
#include "collector/data_directory.h"
#include "collector/enroll/enroll_desk.h"
#include "collector/enroll/enroll_service.h"
#include "collector/enroll/issuer.h"
#include "collector/enroll_parts.h"
#include "collector/filter/filter_side.h"
#include "collector/filter/watch_service.h"
#include "collector/grpc_server.h"
#include "collector/host_figures.h"
#include "collector/http_options.h"
#include "collector/incident/incident_service.h"
#include "collector/incident_parts.h"
#include "collector/ingest/clock.h"
#include "collector/ingest/ingest_core.h"
#include "collector/ingest/ingest_service.h"
#include "collector/ingest/live_renewal.h"
#include "collector/ingest/live_service.h"
#include "collector/ingest/operate_service.h"
#include "collector/ingest/store_adapter.h"
#include "collector/ingest_figures.h"
#include "collector/maintenance.h"
#include "collector/marks/mark_book.h"
#include "collector/part_options.h"
#include "collector/query/engine.h"
#include "collector/query/nearest.h"
#include "collector/query/peers.h"
#include "collector/query/query_service.h"
#include "collector/query/store_source.h"
#include "collector/revocation.h"
#include "collector/tls.h"
#include "collector/verify_copy.h"
#include "collector/web/web_front.h"
#include "config/values.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"
#include "storage/store.h"
#include "telltale_version.h"

namespace telltale::collector {
namespace {

constexpr uint32_t kStopGraceMs = 2000;
constexpr std::chrono::seconds kMaintenancePeriod{60};

// What changes when a file is replaced.
struct FileStamp {
  int64_t mtime_ns = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  bool operator==(const FileStamp&) const = default;
};

// Of one file; none if it is not there.
FileStamp StampOf(const std::string& file) {
  struct stat info = {};
  if (file.empty() || stat(file.c_str(), &info) != 0) return {};
  return {info.st_mtim.tv_sec * static_cast<int64_t>(kNsPerS) + info.st_mtim.tv_nsec, info.st_ino,
          info.st_size};
}

absl::Status NodeKnown(storage::Store& store, const char* step, const std::string& node) {
  if (store.nodes().Find(node).has_value()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const storage::NodeRecord& record : store.nodes().List()) names.push_back(record.name());
  return absl::NotFoundError(absl::StrCat(step, ": node \"", node.substr(0, 128), "\" is unknown",
                                          query::NearestHint(node, names)));
}

void CloseRevoked(const RevocationList& revoked, ingest::IngestCore& ingest) {
  ingest.CloseStreams(
      [&revoked](const ingest::Session& session) {
        const auto& peer = session.peer();
        return !revoked.CheckNode(peer.node_name, peer.certificate_ids).ok();
      },
      absl::UnauthenticatedError("certificate: was revoked; issue another"));
}

}  // namespace

// In the order they are made; destroyed in the reverse one.
struct Collector::Parts {
  Config config;
  GrpcStats grpc_stats;
  GrpcConnections grpc_connections{&grpc_stats};
  // Apart: whoever keeps the one port busy with handshakes leaves the other alone.
  GrpcConnections enroll_connections{&grpc_stats};
  RevocationList revoked;
  FileStamp crl_stamp, ca_stamp, issuing_stamp;
  bool lists_due = false;      // to be read whether or not a file has changed
  bool outdated_told = false;  // that the lists in force are outdated
  enroll::EnrollStats enroll_stats;
  std::atomic<uint64_t> maintenance_failures = 0;
  ingest::SystemClock clock;
  std::unique_ptr<storage::Store> store;
  std::unique_ptr<ingest::StoreAdapter> ingest_store;
  std::unique_ptr<ingest::IngestCore> ingest;
  std::unique_ptr<grpc::Service> ingest_service;
  std::unique_ptr<access::TokenBook> tokens;
  std::unique_ptr<access::AuditLog> audit;
  std::unique_ptr<access::Gate> gate;
  std::unique_ptr<marks::MarkBook> marks;
  std::unique_ptr<grpc::Service> operate_service;
  std::unique_ptr<grpc::Service> access_service;
  std::unique_ptr<enroll::Issuer> issuer;  // null: this collector signs nobody
  std::unique_ptr<enroll::EnrollDesk> enroll_desk;
  std::unique_ptr<grpc::Service> enroll_service, enrolment_service;
  std::unique_ptr<filter::FilterSide> filters;
  std::unique_ptr<query::StoreSource> source;
  std::unique_ptr<query::Engine> engine;
  std::unique_ptr<query::QueryService> query_service;
  std::unique_ptr<alert::Alertmanager> alertmanager;
  std::unique_ptr<grpc::Service> watch_service;
  std::unique_ptr<incident::IncidentService> incident_service;
  std::unique_ptr<ingest::LiveRenewal> live_renewal;
  std::unique_ptr<grpc::Service> live_service;
  std::unique_ptr<GrpcServer> grpc, enroll;  // the second only with an issuer
  std::unique_ptr<web::WebFront> web;
  std::unique_ptr<Maintenance> maintenance;
  std::unique_ptr<ControlSocket> control;
  std::atomic<uint16_t> https_port = 0;  // answers may be asked for before the web is up
  bool stopped = false;
};

Collector::Collector(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Collector::~Collector() { Stop(); }

absl::StatusOr<std::unique_ptr<Collector>> Collector::Start(const LoadedConfig& loaded) {
  const Config& config = loaded.values;
  auto owned = std::make_unique<Parts>();
  Parts& parts = *owned;
  parts.config = config;
  const TlsFiles tls = TlsFilesOf(config);
  const auto now_s = static_cast<int64_t>(parts.clock.UnixNs() / kNsPerS);
  if (absl::Status status = CheckTlsFiles(tls, now_s); !status.ok()) return status;
  parts.crl_stamp = StampOf(config.tls_crl);
  parts.ca_stamp = StampOf(config.tls_ca);
  parts.issuing_stamp = StampOf(config.enroll_ca_cert);
  if (absl::Status status =
          parts.revoked.Load(config.tls_crl, config.tls_ca, config.enroll_ca_cert);
      !status.ok()) {
    return status;
  }
  const auto enroll_address = config::ParseAddress(config.listen_enroll);
  if (!enroll_address.ok()) return enroll_address.status();
  const auto grpc_address = config::ParseAddress(config.listen_grpc);
  if (!grpc_address.ok()) return grpc_address.status();
  const auto https_address = config::ParseAddress(config.listen_https);
  if (!https_address.ok()) return https_address.status();

  if (absl::Status status = MakeDataDirectory(config.data); !status.ok()) return status;
  auto store = storage::Store::Open(StoreOptionsOf(config));
  if (!store.ok()) return store.status();
  parts.store = *std::move(store);
  if (absl::Status status = VerifyCopy::RemoveLeft(config.data); !status.ok()) {
    spdlog::warn("{}", std::string(status.message()));
  }
  if (const auto& upgrade = parts.store->upgrade()) {
    spdlog::info(
        "store: {} upgraded from format {} to {} in {:.1f} s; older programs cannot open it",
        StoreOptionsOf(config).path, upgrade->from, upgrade->to,
        static_cast<double>(upgrade->took_ns) * 1e-9);
  }

  parts.ingest_store = std::make_unique<ingest::StoreAdapter>(parts.store.get());
  parts.ingest = std::make_unique<ingest::IngestCore>(
      IngestOptionsOf(config), IngestSettingsOf(config), parts.ingest_store.get(), &parts.clock);
  parts.ingest->Start();
  parts.ingest_service = ingest::MakeIngestService(
      parts.ingest.get(), &parts.revoked, &parts.grpc_connections, config.ingest_connection_age_s);
  const auto now_ns = [clock = &parts.clock] { return clock->UnixNs(); };
  auto tokens = access::TokenBook::Open(&parts.store->catalog(), now_ns);
  if (!tokens.ok()) return tokens.status();
  parts.tokens = *std::move(tokens);
  auto audit = access::AuditLog::Open(&parts.store->catalog(), now_ns);
  if (!audit.ok()) return audit.status();
  parts.audit = *std::move(audit);
  parts.gate = std::make_unique<access::Gate>(&parts.revoked, &parts.grpc_stats,
                                              &parts.grpc_connections, parts.audit.get());
  parts.access_service = access::MakeAccessService(
      {.tokens = parts.tokens.get(), .audit = parts.audit.get(), .gate = parts.gate.get()});
  auto issuer = MakeIssuer(config, absl::FromUnixSeconds(now_s));
  if (!issuer.ok()) return issuer.status();
  parts.issuer = *std::move(issuer);
  auto desk = enroll::EnrollDesk::Open(
      {.catalog = &parts.store->catalog(),
       .issuer = parts.issuer.get(),
       .by_hand = config.enroll_by_hand,
       .now_ns = now_ns,
       .set_only =
           [&parts](const std::string& node, const std::vector<std::string>& serials) {
             parts.revoked.SetOnly(node, serials);
             CloseRevoked(parts.revoked, *parts.ingest);
           },
       .reported = [store = parts.store.get()](
                       const std::string& node) { return NodeKnown(*store, "enrol", node); }});
  if (!desk.ok()) return desk.status();
  parts.enroll_desk = *std::move(desk);
  const enroll::EnrollServiceOptions enrolling = {
      .desk = parts.enroll_desk.get(),
      .issuer = parts.issuer.get(),
      .audit = parts.audit.get(),
      .gate = parts.gate.get(),
      .stats = &parts.enroll_stats,
      .port = [&parts] { return parts.enroll == nullptr ? uint16_t{0} : parts.enroll->port(); }};
  parts.enroll_service = enroll::MakeEnrollService(enrolling);
  parts.enrolment_service = enroll::MakeEnrolmentService(enrolling);

  auto marks = marks::MarkBook::Open(&parts.store->catalog(), now_ns,
                                     [store = parts.store.get()](const std::string& node) {
                                       return NodeKnown(*store, "note", node);
                                     });
  if (!marks.ok()) return marks.status();
  parts.marks = *std::move(marks);
  parts.operate_service = ingest::MakeOperateService(
      {.core = parts.ingest.get(), .marks = parts.marks.get(), .gate = parts.gate.get()});

  auto filters = filter::FilterSide::Open(
      {.store = parts.store.get(),
       .now_ns = now_ns,
       .log_line = [](const std::string& line) { spdlog::warn("{}", line); },
       .on_mark =
           [marks = parts.marks.get()](const std::string& filter, const std::string& node,
                                       const v1::FilterMark& mark) {
             return marks->Notice(filter, node, mark.start_ns(), mark.text());
           },
       .learn_epochs = config.filters_learn,
       .filter_options = {config.filters_options.begin(), config.filters_options.end()},
       .hints = absl::StrSplit(config.incidents_hints, ',', absl::SkipEmpty()),
       .user_directory = config.filters_dir,
       .host = {.memory_bytes = config.filters_memory_bytes,
                .cpu = std::chrono::seconds(config.filters_cpu_s),
                .wait = std::chrono::seconds(config.filters_wait_s)},
       .user_changed =
           [audit = parts.audit.get()](const std::string& name, const std::string& what) {
             const bool bad = what.starts_with("disabled");
             spdlog::log(bad ? spdlog::level::warn : spdlog::level::info, "filter {}: {}", name,
                         what);
             const auto noted = audit->Done("collector", "", absl::StrCat("filter ", name), what);
             if (!noted.ok()) spdlog::error("{}", std::string(noted.message()));
           }});
  if (!filters.ok()) return filters.status();
  parts.filters = *std::move(filters);
  for (const std::string& loss : parts.store->Losses()) spdlog::warn("store: {}", loss);

  parts.source = std::make_unique<query::StoreSource>(&parts.store->reader());
  const std::string& id = parts.store->store_id();
  parts.engine = std::make_unique<query::Engine>(query::EngineOptions{
      .source = parts.source.get(),
      .anomalies = parts.filters->anomalies(),
      .marks = parts.marks.get(),
      .now_ns = [clock = &parts.clock] { return clock->UnixNs(); },
      .version = TELLTALE_VERSION,
      .store_id_hex = std::string(absl::BytesToHexString(absl::string_view(id.data(), id.size()))),
      .add_status =
          [core = parts.ingest.get(), filters = parts.filters.get(), store = parts.store.get(),
           https_port = &parts.https_port](v1::StatusAnswer& answer) {
            answer.set_https_port(https_port->load());
            AddIngestStatus(core->Stats(), answer);
            answer.set_not_storing(std::string(store->Writable().message()));
            const v1::ListFiltersAnswer listed = filters->List();
            for (const v1::FilterInfo& filter : listed.filters()) {
              *answer.add_filters() = filter.status();
            }
          },
      .config_text = [text = PrintConfig(loaded)] { return text; },
      .cache_bytes = config.query_cache_bytes,
  });
  query::QueryServiceOptions asking;
  asking.engine = parts.engine.get();
  asking.stats = &parts.grpc_stats;
  asking.authorize = [gate = parts.gate.get()](const grpc::ServerContextBase& context) {
    return gate->Asks(context);
  };
  asking.opened = [audit = parts.audit.get()](const std::string& who, const std::string& address,
                                              const char* what, const v1::Selection& selection) {
    audit->Asked(who, address, what, selection);
  };
  parts.query_service = std::make_unique<query::QueryService>(asking);

  auto alertmanager = MakeAlertmanager(config, parts.filters->incidents(), id, now_ns);
  if (!alertmanager.ok()) return alertmanager.status();
  parts.alertmanager = *std::move(alertmanager);
  const auto alertmanagers = [alertmanager = parts.alertmanager.get()] {
    return alertmanager->State();
  };
  const auto peers = [engine = parts.engine.get()](const v1::IncidentSymptom& symptom,
                                                   const std::function<bool()>& cancelled) {
    return query::PeersText(*engine, symptom, cancelled);
  };
  parts.watch_service = filter::MakeWatchService(
      {.side = parts.filters.get(),
       .resolve = [engine = parts.engine.get()](
                      const v1::Selection& asked) { return engine->Select(asked); },
       .gate = parts.gate.get(),
       .stats = &parts.grpc_stats,
       .alertmanagers = alertmanagers,
       .peers = peers,
       .now_ns = now_ns});
  incident::IncidentServiceOptions following;
  following.book = parts.filters->incidents();
  following.silences = parts.filters->silences();
  following.gate = parts.gate.get();
  following.stats = &parts.grpc_stats;
  following.now_ns = now_ns;
  parts.incident_service = std::make_unique<incident::IncidentService>(std::move(following));

  parts.live_renewal = std::make_unique<ingest::LiveRenewal>(parts.ingest.get());
  parts.live_service =
      ingest::MakeLiveService(&parts.ingest->live(), &parts.grpc_stats, asking.authorize);

  std::vector<grpc::Service*> services = {
      parts.ingest_service.get(),    parts.query_service->service(),   parts.operate_service.get(),
      parts.access_service.get(),    parts.watch_service.get(),        parts.live_service.get(),
      parts.enrolment_service.get(), parts.incident_service->service()};
  if (parts.issuer != nullptr) {
    auto enroll = StartEnrollServer(*enroll_address, tls, &parts.grpc_stats,
                                    &parts.enroll_connections, parts.enroll_service.get());
    if (!enroll.ok()) return enroll.status();
    parts.enroll = *std::move(enroll);
  }
  auto server = GrpcServer::Start({.listen = *grpc_address,
                                   .tls = tls,
                                   .connection_age_s = config.ingest_connection_age_s,
                                   .stats = &parts.grpc_stats,
                                   .connections = &parts.grpc_connections},
                                  services);
  if (!server.ok()) return server.status();
  parts.grpc = *std::move(server);

  web::WebFrontOptions web;
  web.http = HttpOptionsOf(config, *https_address);
  web.http.check_certificate = [&parts](const CertificateIds& certificates) {
    return parts.revoked.Check(certificates);
  };
  web.http.log = [](const std::string& line) { spdlog::warn("{}", line); };
  web.http.check_token = [&parts](std::string_view token, const std::string& address) {
    auto peer = parts.tokens->Check(token);
    if (!peer.ok()) {
      parts.audit->Refused("", address, "use a token", std::string(peer.status().message()));
    }
    return peer;
  };
  web.http.token_stands = [&parts](std::string_view token) { return parts.tokens->Stands(token); };
  web.metrics_public = config.http_metrics_public;
  web.metrics_per_node_limit = config.metrics_per_node_limit;
  web.version = TELLTALE_VERSION;
  web.engine = parts.engine.get();
  web.opened = asking.opened;
  web.reader = &parts.store->reader();
  web.anomalies = parts.filters->log();
  web.incidents = {.book = parts.filters->incidents(),
                   .silences = parts.filters->silences(),
                   .alertmanagers = alertmanagers,
                   .peers = peers,
                   .now_ns = now_ns,
                   .audit = [&parts](const std::string& who, const std::string& address,
                                     const std::string& action, const std::string& detail,
                                     const absl::Status& refused) {
                     return AuditOverHttps(*parts.audit, who, address, action, detail, refused);
                   }};
  web.live = &parts.ingest->live();
  web.filters = [filters = parts.filters.get()] { return filters->List(); };
  web.disk = [data = config.data] { return DiskOf(data); };
  web.maintenance_failures = [failures = &parts.maintenance_failures] { return failures->load(); };
  web.certificate_ends = [tls, core = parts.ingest.get()] {
    return CertificateEnds(tls, core->FirstCertificateEnd());
  };
  web.crl_next_update = [revoked = &parts.revoked]() -> std::optional<uint64_t> {
    const auto due_s = revoked->next_update_s();
    if (!due_s) return std::nullopt;
    return static_cast<uint64_t>(std::max<int64_t>(*due_s, 0));
  };
  web.ready = [store = parts.store.get()] { return store->Writable(); };
  web.ingest = [core = parts.ingest.get()] { return FiguresOf(core->Stats()); };
  web.grpc = [&parts] { return FiguresOf(parts.grpc_stats, parts.grpc_connections); };
  web.enroll = [&parts] {
    return metrics::EnrollFigures{parts.enroll_stats.Named(), parts.enroll_desk->Waiting()};
  };
  auto front = web::WebFront::Start(std::move(web));
  if (!front.ok()) return front.status();
  parts.web = *std::move(front);
  parts.https_port = parts.web->port();
  parts.filters->Start();
  parts.alertmanager->Start();

  parts.maintenance = std::make_unique<Maintenance>(
      kMaintenancePeriod, [store = parts.store.get(), failures = &parts.maintenance_failures] {
        absl::Status status = store->Maintain();
        if (!status.ok()) ++*failures;
        return status;
      });
  auto control = ControlSocket::Listen(
      config.data,
      [store = parts.store.get()](const std::string& to_data, const storage::CopyWatcher& watch) {
        return store->BackUp(to_data, watch);
      });
  if (!control.ok()) return control.status();
  parts.control = *std::move(control);
  if (absl::Status status = WritePorts(config.data, parts.grpc->port(), parts.web->port(),
                                       parts.enroll == nullptr ? 0 : parts.enroll->port());
      !status.ok()) {
    return status;
  }
  return std::unique_ptr<Collector>(new Collector(std::move(owned)));
}

uint16_t Collector::grpc_port() const { return parts_->grpc->port(); }
uint16_t Collector::https_port() const { return parts_->web->port(); }

void Collector::Reload(const Config& config) {
  Parts& parts = *parts_;
  parts.ingest->SetSettings(IngestSettingsOf(config));
  parts.config.tls_crl = config.tls_crl;
  parts.lists_due = true;
  const auto now_s = static_cast<int64_t>(parts.clock.UnixNs() / kNsPerS);
  if (absl::Status status = CheckTlsFiles(TlsFilesOf(parts.config), now_s); !status.ok()) {
    spdlog::error("reload: {}; the certificates loaded before stay in use",
                  std::string(status.message()));
  }
  Tick();
}

void Collector::Tick() {
  Parts& parts = *parts_;
  parts.live_renewal->Tick(parts.clock.MonoNs());
  ReadChangedLists();
  TellIfOutdated();
}

void Collector::ReadChangedLists() {
  Parts& parts = *parts_;
  // A list may come before the authority that signed it.
  const FileStamp crl = StampOf(parts.config.tls_crl), ca = StampOf(parts.config.tls_ca),
                  issuing = StampOf(parts.config.enroll_ca_cert);
  const bool authorities = ca != parts.ca_stamp || issuing != parts.issuing_stamp;
  const bool changed = crl != parts.crl_stamp || (authorities && !parts.config.tls_crl.empty());
  if (!changed && !parts.lists_due) return;
  parts.lists_due = false;
  parts.crl_stamp = crl;
  parts.ca_stamp = ca;
  parts.issuing_stamp = issuing;
  if (absl::Status status = parts.revoked.Load(parts.config.tls_crl, parts.config.tls_ca,
                                               parts.config.enroll_ca_cert);
      !status.ok()) {
    spdlog::error("reload: {}; the list loaded before stays in force",
                  std::string(status.message()));
    return;
  }
  parts.outdated_told = false;
  spdlog::info("reload: {} certificates are revoked", parts.revoked.size());
  CloseRevoked(parts.revoked, *parts.ingest);
}

// Once for each time that lists are read.
void Collector::TellIfOutdated() {
  Parts& parts = *parts_;
  if (parts.outdated_told) return;
  const auto outdated =
      parts.revoked.Outdated(static_cast<int64_t>(parts.clock.UnixNs() / kNsPerS));
  if (!outdated) return;
  spdlog::warn("{}", *outdated);
  parts.outdated_told = true;
}

void Collector::Stop() {
  Parts& parts = *parts_;
  if (parts.stopped) return;
  parts.stopped = true;
  parts.control.reset();
  if (parts.enroll != nullptr) parts.enroll->Stop(kStopGraceMs);
  if (parts.web != nullptr) parts.web->Stop();
  if (parts.alertmanager != nullptr) parts.alertmanager->Stop();
  if (parts.filters != nullptr) parts.filters->Stop();
  // Ingest answers what it has and ends its streams; only then can the server end without cutting
  // any.
  if (parts.ingest != nullptr) parts.ingest->Stop();
  if (parts.query_service != nullptr) parts.query_service->Stop();
  if (parts.incident_service != nullptr) parts.incident_service->Stop();
  if (parts.grpc != nullptr) parts.grpc->Stop(kStopGraceMs);
  parts.maintenance.reset();
}

}  // namespace telltale::collector
