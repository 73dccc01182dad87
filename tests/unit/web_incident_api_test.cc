// What a page may do to incidents: operators alone, from a page of ours alone, and written down.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "collector/web/incident_api.h"
#include "collector/web/router.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"

namespace telltale::web {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kNow = 1'790'000'000 * kSecond;
constexpr char kAcknowledge[] =
    R"({"number": "1", "action": "INCIDENT_ACTION_ACKNOWLEDGE", "note": "disk on order"})";
constexpr char kTakeBack[] = R"({"number": "1", "action": "INCIDENT_ACTION_REOPEN"})";
constexpr char kSilence[] =
    R"({"incident": "1", "until_s": 1790003600, "reason": "known", "node": ""})";

class IncidentApiTest : public ::testing::Test {
 protected:
  IncidentApiTest() : store_(&history_, &catalog_) {
    log_ = *filter::AnomalyLog::Open({.store = &store_});
    silences_ = *incident::SilenceBook::Open(&store_);
    book_ = *incident::IncidentBook::Open(
        {.store = &store_, .log = log_.get(), .silences = silences_.get()});
    v1::FilterAnomaly anomaly;
    anomaly.set_vital("cpu");
    anomaly.set_start_ns(kNow);
    anomaly.set_end_ns(kNow);
    anomaly.set_found_ns(kNow);
    anomaly.set_text("cpu high");
    EXPECT_TRUE(log_->Append("ewma", 1, "db-1", anomaly).ok());
    EXPECT_TRUE(log_->Publish().ok());
    EXPECT_TRUE(book_->Advance(kNow).ok());
    RouterOptions options;
    AddIncidents(
        {.book = book_.get(),
         .silences = silences_.get(),
         .peers = [](const v1::IncidentSymptom& of,
                     const std::function<bool()>&) { return absl::StrCat("rule ", of.rule()); },
         .now_ns = [] { return kNow; },
         .audit =
             [this](const std::string& who, const std::string& address, const std::string& action,
                    const std::string& detail, const absl::Status& refused) {
               audit_.push_back(absl::StrCat(refused.ok() ? "" : "refused ", who, " (", address,
                                             ") ", action, " ", detail));
               return refused;
             }},
        options.api);
    handler_ = MakeRouter(std::move(options));
  }

  // As a page of ours sends it.
  static Request Order(const std::string& path, const std::string& body,
                       collector::Role role = collector::Role::kOperator) {
    Request request;
    request.method = "POST";
    request.path = "/api/v1/" + path;
    request.content_type = "application/json";
    request.sec_fetch_site = "same-origin";
    request.host = "telltale:7480";
    request.origin = "https://telltale:7480";
    request.body = body;
    request.peer = collector::Identity{role, "olga"};
    request.address = "10.0.0.7";
    return request;
  }
  Response Ask(const Request& request) { return handler_(request); }
  std::string List(collector::Role role = collector::Role::kViewer) {
    return Ask(Order("incidents", "{}", role)).body;
  }

  storage::MemoryHistory history_;
  storage::MemoryCatalog catalog_;
  storage::DerivedStore store_;
  std::unique_ptr<filter::AnomalyLog> log_;
  std::unique_ptr<incident::SilenceBook> silences_;
  std::unique_ptr<incident::IncidentBook> book_;
  std::vector<std::string> audit_;
  Handler handler_;
};

TEST_F(IncidentApiTest, AnOperatorAcknowledgesAndTakesItBackAndBothAreWrittenDown) {
  EXPECT_EQ(Ask(Order("incidents/change", kAcknowledge)).status, 200);
  EXPECT_THAT(List(),
              HasSubstr(R"("acknowledged_by":"operator/olga","acknowledged_s":1790000000)"));
  EXPECT_EQ(Ask(Order("incidents/change", kTakeBack)).status, 200);
  EXPECT_THAT(List(), HasSubstr(R"("acknowledged_by":"")"));
  EXPECT_THAT(audit_,
              ElementsAre("operator/olga (10.0.0.7) incident 1: acknowledged: disk on order",
                          "operator/olga (10.0.0.7) incident 1: reopened"));
}

TEST_F(IncidentApiTest, PeersAreLookedAtForDiagnosesOfOneIncident) {
  v1::FilterAnomaly diagnosis;
  diagnosis.set_vital("cpu");
  diagnosis.set_start_ns(kNow);
  diagnosis.set_end_ns(kNow);
  diagnosis.set_found_ns(kNow);
  diagnosis.set_rule(4);
  diagnosis.set_text("the kernel takes the CPUs");
  ASSERT_TRUE(log_->Append("rule_kernel_bottleneck", 1, "db-1", diagnosis).ok());
  ASSERT_TRUE(log_->Publish().ok());
  ASSERT_TRUE(book_->Advance(kNow).ok());
  EXPECT_THAT(Ask(Order("incidents", R"({"number": "1"})")).body,
              AllOf(HasSubstr(R"("peers":"rule 4")"), HasSubstr(R"("peers":"")")));
  EXPECT_THAT(List(), Not(HasSubstr("rule 4")));
}

TEST_F(IncidentApiTest, AnOperatorSilencesOneIncidentAndEndsIt) {
  const Response silenced = Ask(Order("silences/add", kSilence));
  EXPECT_EQ(silenced.status, 200) << silenced.body;
  ASSERT_TRUE(book_->Advance(kNow).ok());
  EXPECT_THAT(List(), HasSubstr(R"("incidents":[],)"));
  const v1::Silence made = silences_->List(false, kNow).silences(0);
  EXPECT_EQ(made.incident(), 1u);
  EXPECT_EQ(Ask(Order("silences/end", absl::StrCat(R"({"id": ")", made.id(), R"("})"))).status,
            200);
  ASSERT_TRUE(book_->Advance(kNow).ok());
  EXPECT_THAT(List(), HasSubstr("cpu high"));
  ASSERT_EQ(audit_.size(), 2u);
  EXPECT_THAT(audit_[0], HasSubstr("incident 1 until 2026-"));
  // Of one that is not there it would wait for whatever gets the number.
  Request other = Order("silences/add", kSilence);
  other.body.replace(other.body.find("\"1\""), 3, "\"2\"");
  EXPECT_EQ(Ask(other).status, 404);
  EXPECT_EQ(silences_->List(false, kNow).silences_size(), 0);
}

TEST_F(IncidentApiTest, AViewerIsToldWhoHeIsAndHisOrdersAreRefusedAndWrittenDown) {
  EXPECT_THAT(List(), HasSubstr(R"("asker":"viewer/olga","may_change":false)"));
  EXPECT_THAT(List(collector::Role::kOperator),
              HasSubstr(R"("asker":"operator/olga","may_change":true)"));
  const Response refused = Ask(Order("incidents/change", kAcknowledge, collector::Role::kViewer));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("an operator's certificate may do this"));
  EXPECT_EQ(Ask(Order("silences/add", kSilence, collector::Role::kViewer)).status, 403);
  EXPECT_THAT(audit_, ElementsAre("refused viewer/olga (10.0.0.7) incident ",
                                  "refused viewer/olga (10.0.0.7) silence "));
  EXPECT_THAT(List(), HasSubstr(R"("state":"open")"));
}

// An operator's browser shows his certificate whatever page makes it ask.
TEST_F(IncidentApiTest, APageOfAnotherSiteChangesNothing) {
  const auto refused = [&](int status, const std::function<void(Request&)>& change) {
    for (const char* path : {"incidents/change", "silences/add"}) {
      Request request =
          Order(path, std::string_view(path) == "silences/add" ? kSilence : kAcknowledge);
      change(request);
      EXPECT_EQ(Ask(request).status, status) << path;
    }
  };
  refused(403, [](Request& request) { request.sec_fetch_site = "cross-site"; });
  refused(403, [](Request& request) { request.sec_fetch_site = "same-site"; });
  refused(403, [](Request& request) {  // a browser too old to say more
    request.sec_fetch_site = "";
    request.origin = "https://evil.example";
  });
  // What a form can send without the site being asked first.
  for (const char* type :
       {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""}) {
    refused(400, [type](Request& request) { request.content_type = type; });
  }
  refused(405, [](Request& request) {  // a link
    request.method = "GET";
    request.query = {{"number", "1"}, {"action", "INCIDENT_ACTION_ACKNOWLEDGE"}};
    request.body = "";
  });
  EXPECT_THAT(List(), HasSubstr(R"("state":"open")"));
  EXPECT_EQ(silences_->List(false, kNow).silences_size(), 0);
  EXPECT_THAT(audit_, IsEmpty());
}

}  // namespace
}  // namespace telltale::web
