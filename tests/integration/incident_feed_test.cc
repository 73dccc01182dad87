// Incidents of a real collector on their way to others: a real Alertmanager over mutual TLS, people
// who follow over gRPC and HTTPS, and what operators do to incidents from both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/support/collector_process.h"
#include "tests/support/https_client.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/plain_http.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAlertmanager[] = "/usr/bin/prometheus-alertmanager";
constexpr uint64_t kEpochs = 80, kFirst = 45, kSecondSpike = 70;  // too far apart for one incident
constexpr uint64_t kUsualNs = 3 * kSecond, kUnusualNs = 45 * kSecond;  // of CPU in a minute

class IncidentFeedTest : public ::testing::Test {
 protected:
  // An unusual minute begins an incident here.
  bool StartCollector(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--incidents-hints", "affinity"});
    return collector_.Start(arguments);
  }
  // An unusual minute on each of two nodes.
  void Feed() {
    Send("web-1", kFirst);
    Send("web-2", kSecondSpike);
  }
  void Send(const std::string& name, uint64_t spike) {
    RawAgent agent(collector_.address(), pki_.ca(),
                   pki_.Issue(name, absl::StrCat("URI:telltale://node/", name)));
    const AgentIdentity identity{.node = name, .incarnation = name.back()};
    ASSERT_TRUE(agent.Write(Hello(identity)) && agent.Write(SchemaMessage()));
    const uint64_t newest = LastMinute();
    for (uint64_t sequence = 1; sequence <= kEpochs; ++sequence) {
      const uint64_t end = newest - (kEpochs - sequence) * 60 * kSecond;
      const uint64_t cpu_ns = sequence == spike ? kUnusualNs : kUsualNs + sequence % 5 * 1'000'000;
      ASSERT_TRUE(agent.Write(Summary(identity, sequence, BodyEnding(end, cpu_ns))));
      const auto verdict = agent.ReadVerdict();
      ASSERT_TRUE(verdict.has_value() && verdict->kind() == v1::Verdict::STORED);
    }
  }

  std::vector<std::string> As(const IssuedFiles& who, std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--collector", collector_.address(), "--ca", pki_.ca(),
                                       "--cert", who.cert, "--key", who.key});
    return arguments;
  }
  ProgramRun Telltale(const IssuedFiles& who, const std::vector<std::string>& arguments) const {
    return RunTelltale(As(who, arguments));
  }
  bool AwaitIncidents(const std::string& what) const {
    return Await([&] {
      return Telltale(viewer_, {"incidents", "-o", "json"}).output.find(what) != std::string::npos;
    });
  }
  HttpsClient Https(const IssuedFiles& who) const {
    const std::string ports = ReadAll(scratch_.path() + "/data/ports");
    return HttpsClient(
        {.port = static_cast<uint16_t>(std::stoul(ports.substr(ports.find("https=") + 6))),
         .ca_file = pki_.ca(),
         .client = who});
  }

  const TempDir scratch_;
  Pki pki_{scratch_.path(), "ca"};
  const IssuedFiles viewer_ = pki_.Issue("eve", "URI:telltale://viewer/eve");
  const IssuedFiles operator_ = pki_.Issue("olga", "URI:telltale://operator/olga");
  // A port that stays over restarts.
  CollectorProcess collector_{scratch_.path() + "/data", pki_,
                              pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1"),
                              absl::StrCat("127.0.0.1:", FreePort())};
};

class Alertmanager {
 public:
  Alertmanager(const std::string& dir, Pki& pki, const IssuedFiles& client, uint16_t post_box)
      : dir_(dir), ca_(pki.ca()), client_(client), port_(FreePort()), program_(dir + "/am.log") {
    const IssuedFiles own = pki.Issue("alertmanager", "DNS:localhost,IP:127.0.0.1");
    std::ofstream(dir + "/am.yml")
        << "route: {receiver: box, group_by: [alertname], group_wait: 3s, group_interval: 1s, "
           "repeat_interval: 1h}\n"
           "receivers:\n"
           "  - name: box\n"
           "    webhook_configs: [{url: 'http://127.0.0.1:"
        << post_box << "/'}]\n";
    std::ofstream(dir + "/am-web.yml")
        << "tls_server_config: {cert_file: " << own.cert << ", key_file: " << own.key
        << ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: " << ca_ << "}\n";
    Start();
  }
  void Start() {
    program_.Start(
        kAlertmanager,
        {"--config.file=" + dir_ + "/am.yml", "--web.config.file=" + dir_ + "/am-web.yml",
         "--storage.path=" + dir_ + "/am", absl::StrCat("--web.listen-address=127.0.0.1:", port_),
         "--cluster.listen-address="});
  }
  void Kill() { program_.Kill(); }
  std::string address() const { return absl::StrCat("https://localhost:", port_); }
  std::string log() const { return program_.log(); }
  // Empty array: not there, or nothing.
  nlohmann::json Get(const std::string& target) const {
    HttpsClient client({.port = port_, .ca_file = ca_, .client = client_});
    const HttpReply reply = client.ok() ? client.Get(target) : HttpReply();
    const nlohmann::json answer = nlohmann::json::parse(reply.body, nullptr, false);
    return answer.is_array() ? answer : nlohmann::json::array();
  }

 private:
  const std::string dir_, ca_;
  const IssuedFiles client_;
  const uint16_t port_;
  Program program_;
};

// Whether a message to the receiver had an alert of this incident in this state.
bool Told(const PostBox& box, const std::string& incident, const std::string& status,
          size_t alerts = 0) {
  for (const std::string& body : box.bodies()) {
    const nlohmann::json message = nlohmann::json::parse(body, nullptr, false);
    if (!message.contains("alerts") || message["alerts"].size() < alerts) continue;
    for (const nlohmann::json& alert : message["alerts"]) {
      if (alert["status"] == status && alert["labels"]["incident"] == incident) return true;
    }
  }
  return false;
}

TEST_F(IncidentFeedTest, AnAlertmanagerFiresGroupsResolvesAndSurvivesItsRestart) {
  if (access(kAlertmanager, X_OK) != 0) {
    GTEST_SKIP() << "Alertmanager is not installed (Debian: prometheus-alertmanager)";
  }
  PostBox box;
  const IssuedFiles shown = pki_.Issue("told", "URI:telltale://viewer/told");
  Alertmanager alertmanager(scratch_.path(), pki_, shown, box.port());
  ASSERT_TRUE(StartCollector(
      {"--incidents-alertmanager", alertmanager.address(), "--incidents-alertmanager-ca", pki_.ca(),
       "--incidents-alertmanager-cert", shown.cert, "--incidents-alertmanager-key", shown.key,
       "--incidents-alertmanager-repeat", "1s", "--incidents-url", "https://telltale.example"}))
      << collector_.log();
  Feed();
  // Fires, both incidents in one message of one group.
  ASSERT_TRUE(Await([&] { return Told(box, "1", "firing", 2) && Told(box, "2", "firing", 2); }))
      << alertmanager.log() << collector_.log();
  const nlohmann::json groups = alertmanager.Get("/api/v2/alerts/groups");
  ASSERT_EQ(groups.size(), 1u) << groups;
  EXPECT_EQ(groups[0]["labels"]["alertname"], "TelltaleIncident");
  ASSERT_EQ(groups[0]["alerts"].size(), 2u);
  EXPECT_THAT(groups[0]["alerts"][0]["generatorURL"],
              HasSubstr("https://telltale.example/incidents?incident="));
  EXPECT_THAT(groups[0]["alerts"][0]["annotations"]["summary"], HasSubstr("cpu"));
  // It forgets its alerts when it ends, and is told again.
  alertmanager.Kill();
  ASSERT_TRUE(Await([&] {
    return Telltale(viewer_, {"incidents"}).output.find("is not told of incidents: connection") !=
           std::string::npos;
  })) << Telltale(viewer_, {"incidents"}).output;
  alertmanager.Start();
  ASSERT_TRUE(Await([&] { return alertmanager.Get("/api/v2/alerts").size() == 2; }))
      << alertmanager.log();
  // Resolves the one that is over, and it alone.
  EXPECT_EQ(Telltale(operator_, {"incidents", "1", "--resolve", "--note", "done"}).exit_code, 0);
  ASSERT_TRUE(Await([&] { return Told(box, "1", "resolved"); })) << alertmanager.log();
  EXPECT_FALSE(Told(box, "2", "resolved"));
  // One under a silence ends too.
  EXPECT_EQ(Telltale(operator_, {"silence", "--node", "web-2", "--for", "1h", "--reason", "test"})
                .exit_code,
            0);
  ASSERT_TRUE(Await([&] { return Told(box, "2", "resolved"); })) << alertmanager.log();
  const std::string metrics = Https(viewer_).Get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("telltale_incidents_open 0"));
  EXPECT_THAT(metrics, HasSubstr("telltale_incidents_silenced 1"));
  EXPECT_THAT(metrics, HasSubstr(absl::StrCat("telltale_alertmanager_posts_total{url=\"",
                                              alertmanager.address(), "\",result=\"ok\"}")));
}

TEST_F(IncidentFeedTest, PeopleFollowOverBothWaysAndOperatorsActOverBoth) {
  ASSERT_TRUE(StartCollector()) << collector_.log();
  Program following(scratch_.path() + "/following");
  following.Start(TelltaleProgram(), As(viewer_, {"incidents", "--follow", "--cursor", "0"}));
  Feed();
  ASSERT_TRUE(AwaitIncidents("\"number\": \"2\"")) << collector_.log();
  ASSERT_TRUE(Await([&] { return following.log().find("incident 2  open") != std::string::npos; }))
      << following.log();

  // Server-sent events from the oldest on; then the connection is cut.
  const auto events = [&](HttpsClient& client, const std::string& header) {
    client.Send("GET /api/v1/incidents/follow?cursor=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header +
                "\r\n");
    EXPECT_EQ(client.ReadHeader().status, 200);
  };
  std::string seen, last;
  {
    HttpsClient client = Https(viewer_);
    events(client, "");
    while (seen.find("\"number\":\"2\"") == std::string::npos) {
      const std::string chunk = client.ReadChunk();
      ASSERT_FALSE(chunk.empty()) << seen;
      seen += chunk;
    }
    last = seen.substr(seen.rfind("id: ") + 4);
    last = last.substr(0, last.find('\n'));
  }
  EXPECT_THAT(seen, HasSubstr("event: incident\ndata: {\"number\":\"1\""));
  EXPECT_THAT(seen, HasSubstr("\"evidence\":"));

  // Meanwhile: orders, of operators alone, by POST alone.
  HttpsClient viewer = Https(viewer_), olga = Https(operator_);
  const std::string acknowledge =
      R"({"number": 1, "action": "INCIDENT_ACTION_ACKNOWLEDGE", "note": "mine"})";
  const auto change = [&](HttpsClient& client) {
    return client.Post("/api/v1/incidents/change", "application/json", acknowledge);
  };
  EXPECT_EQ(change(viewer).status, 403);
  EXPECT_EQ(olga.Get("/api/v1/incidents/change?number=1&action=INCIDENT_ACTION_RESOLVE").status,
            405);
  const HttpReply changed = change(olga);
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_THAT(changed.body, HasSubstr("operator/olga"));
  EXPECT_THAT(Telltale(operator_, {"audit"}).output, HasSubstr("1: acknowledged: mine"));
  {
    HttpsClient client = Https(viewer_);
    events(client, "Last-Event-ID: " + last + "\r\n");
    const std::string chunk = client.ReadChunk();
    EXPECT_THAT(chunk, HasSubstr("\"state\":\"acknowledged\""));
    EXPECT_THAT(chunk, Not(HasSubstr("\"number\":\"2\"")));
  }

  // The collector restarts; who follows goes on.
  ASSERT_TRUE(Await([&] {
    return following.log().find("incident 1  acknowledged") != std::string::npos;
  })) << following.log();
  EXPECT_EQ(collector_.Stop(), 0);
  ASSERT_TRUE(StartCollector()) << collector_.log();
  const ProgramRun silenced = Telltale(operator_, {"silence", "--rule", "ewma", "--node", "web-2",
                                                   "--for", "1h", "--reason", "why"});
  EXPECT_EQ(silenced.exit_code, 0) << silenced.output;
  ASSERT_TRUE(Await([&] {
    return following.log().find("incident 2  open, silenced") != std::string::npos;
  })) << following.log();
  following.Kill();
  const std::string followed = following.log();
  for (const char* once : {"incident 1  open", "incident 2  open  ", "incident 1  acknowledged"}) {
    EXPECT_EQ(followed.find(once), followed.rfind(once)) << followed;
  }
  const ProgramRun list = Telltale(viewer_, {"incidents"});
  EXPECT_THAT(list.output, HasSubstr("1 more under silences"));
  EXPECT_THAT(list.output, HasSubstr("acknowledged"));
  const ProgramRun silences = Telltale(viewer_, {"silence"});
  EXPECT_THAT(silences.output, HasSubstr("operator/olga"));
  EXPECT_EQ(Telltale(viewer_, {"silence", "--end", silences.output.substr(0, 8)}).exit_code, 4);

  // What stands in the store is what its format says.
  EXPECT_EQ(collector_.Stop(), 0);
  Program decoder(scratch_.path() + "/decoder");
  decoder.Start(TELLTALE_STORE_DECODER, {scratch_.path() + "/data/store"});
  EXPECT_EQ(decoder.AwaitEnd(), 0) << decoder.log();
}

}  // namespace
}  // namespace telltale::testing
