// What an Alertmanager is told, where it may be, and what happens when it is not there.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "collector/alert/alertmanager.h"
#include "collector/alert/http_post.h"
#include "tests/support/plain_http.h"
#include "tests/support/program.h"

namespace telltale::alert {
namespace {

using ::testing::HasSubstr;

TEST(WebAddressTest, IsTakenApart) {
  const auto address = ParseWebAddress("https://alerts.example:9443/am/");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_TRUE(address->tls);
  EXPECT_EQ(address->host, "alerts.example");
  EXPECT_EQ(address->port, "9443");
  EXPECT_EQ(address->path, "/am");
  EXPECT_EQ(ParseWebAddress("http://[::1]")->host, "::1");
  EXPECT_EQ(ParseWebAddress("http://[::1]:81")->port, "81");
  EXPECT_EQ(ParseWebAddress("http://a")->port, "80");
  EXPECT_EQ(ParseWebAddress("https://a")->port, "443");
}

TEST(WebAddressTest, WhatIsNoneIsRefused) {
  for (const char* text : {"", "alerts:9093", "ftp://a", "https://", "https://a:0", "https://a:x",
                           "https://u:p@a", "https://a/?q", "https://a\r\nHost: b"}) {
    EXPECT_FALSE(ParseWebAddress(text).ok()) << text;
  }
  EXPECT_EQ(ParseWebAddresses("http://a, http://b")->size(), 2u);
  EXPECT_EQ(ParseWebAddresses("")->size(), 0u);
  EXPECT_FALSE(ParseWebAddresses("http://a,http://a").ok());
}

v1::Incident Open() {
  v1::Incident incident;
  incident.set_number(12);
  incident.set_state("open");
  incident.set_title("postgres waited");
  incident.set_start_s(1'790'000'000);
  incident.set_last_s(1'790'000'060);
  incident.set_anomalies(3);
  incident.add_nodes("db-1");
  incident.set_node_count(1);
  v1::IncidentSymptom& symptom = *incident.add_symptoms();
  symptom.set_node("db-1");
  symptom.set_filter("rule_blocked");
  symptom.set_vital("blocking");
  symptom.set_program("postgres\xff");
  symptom.set_rule(5);
  symptom.set_text("postgres waited");
  symptom.set_evidence("blocked 0.7 threads");
  symptom.mutable_record()->set_hits(27);
  symptom.mutable_record()->set_misses(2);
  return incident;
}

nlohmann::json Told(const v1::Incident& incident) {
  const std::string text = AlertsJson(std::span(&incident, 1), {"0a1b", "https://c:7480"},
                                      1'790'001'000ull * 1'000'000'000);
  return nlohmann::json::parse(text)[0];
}

TEST(AlertsTest, AnOpenIncidentHasLabelsThatStayAndNoEnd) {
  v1::Incident incident = Open();
  const nlohmann::json before = Told(incident);
  EXPECT_EQ(before["labels"]["alertname"], "TelltaleIncident");
  EXPECT_EQ(before["labels"]["incident"], "12");
  EXPECT_EQ(before["labels"]["node"], "db-1");
  EXPECT_EQ(before["labels"]["rule"], "5");
  EXPECT_EQ(before["startsAt"], "2026-09-21T14:13:20+00:00");
  EXPECT_EQ(before["generatorURL"], "https://c:7480/incidents?incident=12");
  EXPECT_THAT(before["annotations"]["description"], HasSubstr("Because: blocked 0.7 threads"));
  EXPECT_THAT(before["annotations"]["description"], HasSubstr("Record of rule 5: 27 of 29 found"));
  EXPECT_FALSE(before.contains("endsAt"));
  incident.set_title("another title");
  incident.add_nodes("db-2");
  *incident.add_symptoms() = incident.symptoms(0);
  incident.mutable_symptoms(1)->set_program("other");
  EXPECT_EQ(Told(incident)["labels"], before["labels"]);
}

TEST(AlertsTest, WhatIsOverOrSilencedHasAnEnd) {
  v1::Incident incident = Open();
  incident.set_silenced(true);
  EXPECT_EQ(Told(incident)["endsAt"], "2026-09-21T14:30:00+00:00");
  incident.set_state("resolved");
  incident.set_resolved_s(1'790'000'300);
  EXPECT_EQ(Told(incident)["endsAt"], "2026-09-21T14:18:20+00:00");
  incident.set_resolved_s(1'789'999'000);
  EXPECT_EQ(Told(incident)["endsAt"], Told(incident)["startsAt"]) << "else it is refused";
}

AlertmanagerOptions To(uint16_t port) {
  AlertmanagerOptions options;
  options.targets = *ParseWebAddresses("http://127.0.0.1:" + std::to_string(port) + "/am");
  options.words = {"0a1b", "https://c:7480"};
  options.repeat = std::chrono::milliseconds(100);
  options.gather = std::chrono::milliseconds(1);
  options.first_retry = std::chrono::milliseconds(20);
  options.incidents = [](uint64_t) { return std::vector<v1::Incident>{Open()}; };
  options.wait = [](std::function<void()>) -> absl::StatusOr<std::unique_ptr<feed::Waiter>> {
    return absl::ResourceExhaustedError("none");
  };
  options.now_ns = [] { return uint64_t{1'790'001'000} * 1'000'000'000; };
  return options;
}

TEST(AlertmanagerTest, IsToldAgainAndAgain) {
  testing::PostBox box;
  Alertmanager alertmanager(To(box.port()));
  alertmanager.Start();
  EXPECT_TRUE(testing::Await([&] { return box.bodies().size() >= 3; }));
  alertmanager.Stop();
  EXPECT_EQ(nlohmann::json::parse(box.bodies()[0])[0]["labels"]["incident"], "12");
  EXPECT_GE(alertmanager.State()[0].posts(), 2u);
  EXPECT_EQ(alertmanager.State()[0].failures(), 0u);
  EXPECT_EQ(alertmanager.State()[0].problem(), "");
}

TEST(AlertmanagerTest, FailuresAreCountedToldAndEnd) {
  testing::PostBox box(503);
  std::mutex mutex;
  std::vector<std::string> lines;
  AlertmanagerOptions options = To(box.port());
  options.log_line = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  Alertmanager alertmanager(std::move(options));
  alertmanager.Start();
  EXPECT_TRUE(testing::Await([&] { return alertmanager.State()[0].failures() >= 2; }));
  EXPECT_THAT(alertmanager.State()[0].problem(), HasSubstr("answered 503: no"));
  box.set_status(200);
  EXPECT_TRUE(testing::Await([&] { return alertmanager.State()[0].problem().empty(); }));
  alertmanager.Stop();
  const std::lock_guard lock(mutex);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("cannot be told of incidents: answered 503"));
  EXPECT_THAT(lines[1], HasSubstr("takes posts again"));
}

TEST(AlertmanagerTest, WhatItRefusesKeepsNoOthersFromBeingTold) {
  testing::PostBox box(400);
  AlertmanagerOptions options = To(box.port());
  options.incidents = [](uint64_t) { return std::vector<v1::Incident>(300, Open()); };
  Alertmanager alertmanager(std::move(options));
  alertmanager.Start();
  EXPECT_TRUE(testing::Await([&] { return alertmanager.State()[0].failures() >= 1; }));
  alertmanager.Stop();
  std::set<size_t> sizes;
  for (const std::string& body : box.bodies()) sizes.insert(nlohmann::json::parse(body).size());
  EXPECT_THAT(sizes, ::testing::ElementsAre(44, 256));
}

// Names that hang do so until the test has ended; all others are looked up as usual.
class HangingNames {
 public:
  HangingNames() { Hanging() = true; }
  ~HangingNames() {
    Hanging() = false;
    EXPECT_TRUE(testing::Await([] { return Lookups() == 0; }));
  }
  static std::atomic<bool>& Hanging() {
    static std::atomic<bool> hanging{false};
    return hanging;
  }
  static std::atomic<int>& Lookups() {  // that hang
    static std::atomic<int> lookups{0};
    return lookups;
  }
};

}  // namespace
}  // namespace telltale::alert

// In place of the C library's, of which it is made.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  using telltale::alert::HangingNames;
  if (std::string_view(host == nullptr ? "" : host) == "hangs.example") {
    ++HangingNames::Lookups();
    // Not for ever: who waits for it is to fail and not to hang, too.
    for (int i = 0; i < 1'500 && HangingNames::Hanging(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    --HangingNames::Lookups();
    return EAI_AGAIN;
  }
  if (std::string_view(host == nullptr ? "" : host) == "none.example") return EAI_NONAME;
  static const auto usual =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return usual(host, port, hints, found);
}

namespace telltale::alert {
namespace {

TEST(PostJsonTest, ANameThatHangsHoldsNobodyLongerThanHeWaits) {
  const HangingNames hanging;
  NameLookups names;
  const auto address = ParseWebAddress("http://hangs.example:9093");
  ASSERT_TRUE(address.ok()) << address.status();
  std::atomic<bool> stop{false};
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    const auto status =
        PostJson(names, *address, "/x", {}, "{}", std::chrono::milliseconds(200), stop);
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(status.message(), HasSubstr("name: nothing within 200 ms"));
  }
  EXPECT_EQ(HangingNames::Lookups(), 1) << "three that ask wait for one lookup";
  std::thread stopping([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  EXPECT_TRUE(absl::IsCancelled(
      PostJson(names, *address, "/x", {}, "{}", std::chrono::milliseconds(60'000), stop)));
  stopping.join();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(14));
}

TEST(PostJsonTest, ANameIsLookedUpAndOneThatIsNoneIsSaid) {
  testing::PostBox box;
  NameLookups names;
  const std::atomic<bool> stop{false};
  const auto post = [&](const std::string& host) {
    return PostJson(names, *ParseWebAddress("http://" + host + ":" + std::to_string(box.port())),
                    "/x", {}, "{}", std::chrono::milliseconds(30'000), stop);
  };
  EXPECT_TRUE(post("localhost").ok());
  EXPECT_TRUE(post("127.0.0.1").ok());
  const auto none = post("none.example");
  EXPECT_TRUE(absl::IsUnavailable(none)) << none;
  EXPECT_THAT(std::string(none.message()), ::testing::StartsWith("name: "));
}

TEST(AlertmanagerTest, NobodyThereIsAFailureAndStoppingDoesNotWaitForIt) {
  Alertmanager alertmanager(To(testing::FreePort()));
  alertmanager.Start();
  EXPECT_TRUE(testing::Await([&] { return alertmanager.State()[0].failures() >= 1; }));
  EXPECT_THAT(alertmanager.State()[0].problem(), HasSubstr("connection"));
}

}  // namespace
}  // namespace telltale::alert
