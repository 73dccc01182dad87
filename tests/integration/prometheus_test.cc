// A real Prometheus scrapes a real store over mutual TLS, and a browser's and a script's requests
// beside it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/ewma.h"
#include "collector/filter/filter_runner.h"
#include "collector/filter/query_anomalies.h"
#include "collector/metrics/exposition.h"
#include "collector/query/store_source.h"
#include "collector/web/web_front.h"
#include "proto/codec.h"
#include "sketch/vital_ids.h"
#include "storage/store.h"
#include "tests/support/https_client.h"
#include "tests/support/plain_http.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"
#include "tests/support/web_pki.h"

namespace telltale::web {
namespace {

using testing::FreePort;
using ::testing::HasSubstr;
using testing::HttpsClient;
using testing::MadeSummary;
using testing::PlainGet;
using testing::SyntheticNode;
using testing::TempDir;
using testing::WebPki;

uint64_t WallNs() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

class Prometheus {
 public:
  Prometheus(const std::string& dir, uint16_t port) {
    pid_ = fork();
    if (pid_ != 0) return;
    const int log = open((dir + "/prometheus.log").c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execlp("prometheus", "prometheus", ("--config.file=" + dir + "/prometheus.yml").c_str(),
           ("--storage.tsdb.path=" + dir + "/tsdb").c_str(),
           absl::StrCat("--web.listen-address=127.0.0.1:", port).c_str(), nullptr);
    _exit(127);
  }
  ~Prometheus() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Prometheus(const Prometheus&) = delete;
  Prometheus& operator=(const Prometheus&) = delete;

 private:
  pid_t pid_;
};

class FrontTest : public ::testing::Test {
 protected:
  FrontTest() {
    storage::StoreOptions options;
    options.path = dir_.path() + "/store";
    options.memory_bytes = 32 << 20;
    options.min_free_bytes = 0;
    store_ = *storage::Store::Open(options);
    node_ = *store_->nodes().NumberOf(maker_.name());
    v1::Schema schema = proto::BuiltinSchema();
    EXPECT_TRUE(store_->summaries().PutSchema(node_, schema).ok());
    Store(3);

    log_ = *filter::AnomalyLog::Open({.store = &store_->derived()});
    epochs_ = std::make_unique<filter::StoreEpochSource>(&store_->reader());
    filter::FilterRunnerOptions filters;
    filters.source = epochs_.get();
    filters.store = &store_->derived();
    filters.log = log_.get();
    filters.filters = {telltale_ewma_filter()};
    filters.now_ns = WallNs;
    runner_ = *filter::FilterRunner::Open(filters);
    anomalies_ = std::make_unique<filter::QueryAnomalies>(
        &store_->derived(), log_.get(), [this] { return runner_->filters(); },
        [this] { return runner_->Learning(); });
    source_ = std::make_unique<query::StoreSource>(&store_->reader());
    query::EngineOptions engine;
    engine.source = source_.get();
    engine.anomalies = anomalies_.get();
    engine.now_ns = WallNs;
    engine.version = "9.8.7";
    engine_ = std::make_unique<query::Engine>(engine);

    const auto server = pki_.Issue("collector", {});
    WebFrontOptions web;
    web.http.address = "127.0.0.1";
    web.http.port = 0;
    web.http.ca_file = pki_.ca_file();
    web.http.cert_file = server.cert;
    web.http.key_file = server.key;
    web.engine = engine_.get();
    web.reader = &store_->reader();
    web.anomalies = log_.get();
    web.filters = [this] {
      v1::ListFiltersAnswer answer;
      for (const filter::FilterReport& report : runner_->Reports()) {
        v1::FilterInfo& info = *answer.add_filters();
        info.set_name(report.status.name());
        *info.mutable_status() = report.status;
        info.set_epochs_late(report.skipped);
      }
      return answer;
    };
    web.version = "9.8.7";
    auto front = WebFront::Start(std::move(web));
    EXPECT_TRUE(front.ok()) << front.status();
    front_ = *std::move(front);
  }

  // More epochs of the node, the last of them just over.
  void Store(int count) {
    for (int i = 0; i < count; ++i) {
      ++sequence_;
      const uint64_t start = begin_ns_ + sequence_ * 60'000'000'000;
      const MadeSummary made = maker_.Make(sequence_, start);
      for (const v1::Vital& vital : made.body.vitals()) {
        if (vital.id() == TELLTALE_CPU) cpu_user_ns_ += vital.subs(0).weight();
      }
      const storage::Incoming incoming{node_, &made.summary, &made.body, true};
      const auto outcome = store_->summaries().PutBatch({&incoming, 1});
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      ASSERT_EQ(outcome->front(), storage::Outcome::kStored);
    }
  }

  HttpsClient::Options As(const std::string& role) {
    return {.port = front_->port(),
            .ca_file = pki_.ca_file(),
            .client = pki_.Issue(role, {"telltale://" + role + "/someone"})};
  }

  TempDir dir_;
  WebPki pki_;
  SyntheticNode maker_{"web-1", 1};
  const uint64_t begin_ns_ = WallNs() - 3'600'000'000'000;
  uint64_t sequence_ = 0;
  uint64_t cpu_user_ns_ = 0;
  uint32_t node_ = 0;
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<filter::AnomalyLog> log_;
  std::unique_ptr<filter::StoreEpochSource> epochs_;
  std::unique_ptr<filter::FilterRunner> runner_;
  std::unique_ptr<filter::QueryAnomalies> anomalies_;
  std::unique_ptr<query::StoreSource> source_;
  std::unique_ptr<query::Engine> engine_;
  std::unique_ptr<WebFront> front_;
};

TEST_F(FrontTest, PrometheusScrapesOverMutualTlsAndGivesTheStoresFigure) {
  if (std::system("command -v prometheus >/dev/null") != 0) {
    GTEST_SKIP() << "prometheus is not installed (Debian: prometheus)";
  }
  const auto viewer = pki_.Issue("prometheus", {"telltale://viewer/prometheus"});
  std::ofstream(dir_.path() + "/prometheus.yml")
      << "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
      << "scrape_configs:\n- job_name: telltale\n  scheme: https\n  tls_config: {ca_file: "
      << pki_.ca_file() << ", cert_file: " << viewer.cert << ", key_file: " << viewer.key << "}\n"
      << "  static_configs: [{targets: ['127.0.0.1:" << front_->port() << "']}]\n";
  const uint16_t port = FreePort();
  const Prometheus prometheus(dir_.path(), port);
  const auto await = [&](uint64_t ns) {
    const std::string expected =
        absl::StrCat("\"", metrics::Real(static_cast<double>(ns) / 1e9), "\"]");
    std::string answer;
    while (answer.find(expected) == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      answer = PlainGet(
          port,
          "/api/v1/"
          "query?query=telltale_cpu_seconds_total%7Bnode%3D%22web-1%22%2Csub%3D%22user%22%7D");
    }
    return answer;
  };
  // A value that never comes ends in the test's time limit, with what came instead in the log.
  EXPECT_THAT(await(cpu_user_ns_), HasSubstr("\"status\":\"success\""));
  Store(2);
  await(cpu_user_ns_);
  EXPECT_THAT(PlainGet(port, "/api/v1/query?query=up"), HasSubstr("\"1\"]"));
}

TEST_F(FrontTest, AnswersInJsonComeFromTheOneEngine) {
  HttpsClient client(As("viewer"));
  const auto nodes = client.Get("/api/v1/nodes");
  EXPECT_EQ(nodes.status, 200);
  EXPECT_THAT(nodes.body, HasSubstr("\"name\":\"web-1\""));
  const auto series = client.Get("/api/v1/series?vitals=cpu");
  EXPECT_EQ(series.status, 200) << series.body;
  EXPECT_THAT(series.body, HasSubstr("\"vital\":\"cpu\""));
  EXPECT_EQ(client.Get("/api/v1/series?vitals=cpux").status, 404);
  const auto anomalies = client.Get("/api/v1/anomalies");
  EXPECT_EQ(anomalies.status, 200) << anomalies.body;
}

TEST_F(FrontTest, TheLandingPageNamesNodesAndHoldsNoScript) {
  HttpsClient client(As("operator"));
  const auto page = client.Get("/plain");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("web-1"));
  EXPECT_THAT(page.body, HasSubstr("9.8.7"));
  EXPECT_THAT(page.body, ::testing::Not(HasSubstr("<script")));
  EXPECT_THAT(page.headers.at("content-security-policy"), HasSubstr("style-src 'sha256-"));
}

TEST_F(FrontTest, AnomaliesAreFollowedLiveAndFromACursor) {
  v1::FilterAnomaly anomaly;
  anomaly.set_vital("cpu");
  anomaly.set_sub("user");
  const auto found = [&](uint64_t second) {
    anomaly.set_start_ns(second * 1'000'000'000);
    ASSERT_TRUE(log_->Append("ewma", 1, "web-1", anomaly).ok());
    ASSERT_TRUE(log_->Publish().ok());
  };
  const auto follow = [](HttpsClient& client, const std::string& from) {
    client.Send("GET /api/v1/anomalies/follow" + from + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.ReadHeader().status, 200);
  };
  found(1);
  {
    HttpsClient live(As("viewer"));
    follow(live, "");
    EXPECT_THAT(live.ReadChunk(), HasSubstr("id: 1\nevent: begin"));
    found(2);
    EXPECT_THAT(live.ReadChunk(), ::testing::AllOf(HasSubstr("id: 2\nevent: anomaly\ndata: {"),
                                                   HasSubstr("ewma/1/web-1/cpu/user/2000")));
  }
  found(3);
  HttpsClient resumed(As("viewer"));
  follow(resumed, "?cursor=2");
  const std::string chunk = resumed.ReadChunk();
  EXPECT_THAT(chunk, HasSubstr("id: 3\n"));
  EXPECT_THAT(chunk, ::testing::Not(HasSubstr("id: 2\n")));
  EXPECT_EQ(HttpsClient(As("viewer")).Get("/api/v1/anomalies/follow?cursor=99").status, 400);
}

}  // namespace
}  // namespace telltale::web
