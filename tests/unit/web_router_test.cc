// Routes, roles and the JSON answers, without a socket.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/web/router.h"
#include "telltale/v1/query.pb.h"

namespace telltale::web {
namespace {

using ::testing::HasSubstr;

Request Get(const std::string& path, std::optional<collector::Role> role = std::nullopt) {
  Request request;
  request.method = "GET";
  request.path = path;
  if (role.has_value()) request.peer = collector::Identity{*role, "someone"};
  return request;
}

class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    options_.metrics = [](const Request&) {
      Response response;
      response.body = "figures";
      return response;
    };
    options_.api.Add<v1::TopRequest, v1::TopAnswer>(
        "top", [this](const v1::TopRequest& question, const CallContext&) {
          asked_ = question;
          v1::TopAnswer answer;
          answer.mutable_coverage()->set_watched_s(58.5);
          auto* row = answer.add_tables()->add_rows();
          row->set_name("evil\"\n\x1b[31m<script>");
          return answer;
        });
  }
  Response Ask(const Request& request) { return MakeRouter(options_)(request); }

  RouterOptions options_;
  v1::TopRequest asked_;
};

TEST_F(RouterTest, AnAnswerThatIsKeptIsSentOnWithoutBeingAskedFor) {
  v1::TopAnswer kept;
  kept.mutable_coverage()->set_watched_s(7);
  for (int i = 0; i < 1000; ++i) kept.add_tables()->set_vital("cpu");  // a large one
  int asked = 0;
  options_.api.Add<v1::TopRequest, v1::TopAnswer>(
      "kept",
      [&asked](const v1::TopRequest&, const CallContext&) {
        ++asked;
        return v1::TopAnswer();
      },
      [&kept](const v1::TopRequest& question) {
        return question.vital() != "cpu"
                   ? nullptr
                   : std::make_shared<const std::string>(kept.SerializeAsString());
      });
  auto request = Get("/api/v1/kept", collector::Role::kViewer);
  request.query = {{"vital", "cpu"}};
  EXPECT_THAT(Ask(request).body, HasSubstr("\"watched_s\":7"));
  EXPECT_EQ(Ask(request).content_type, "application/json");
  request.accept = "application/x-protobuf";
  EXPECT_EQ(Ask(request).body, kept.SerializeAsString());
  EXPECT_EQ(Ask(request).content_type, "application/x-protobuf");
  EXPECT_EQ(asked, 0);
  request.query = {{"vital", "cpu"}, {"format", "csv"}};
  EXPECT_EQ(Ask(request).status, 200);
  EXPECT_EQ(asked, 1) << "a file is made of the answer itself";
  request.query = {{"vital", "disk"}};
  Ask(request);
  EXPECT_EQ(asked, 2);
}

TEST_F(RouterTest, HealthIsOpenToAll) { EXPECT_EQ(Ask(Get("/healthz")).status, 200); }

TEST_F(RouterTest, HealthNeedsNoRequest) {
  ASSERT_TRUE(HealthAnswer("GET", "/healthz").has_value());
  EXPECT_EQ(HealthAnswer("HEAD", "/healthz")->status, 200);
  EXPECT_FALSE(HealthAnswer("POST", "/healthz").has_value());
  EXPECT_FALSE(HealthAnswer("GET", "/api/v1/top").has_value());
}

TEST_F(RouterTest, OnlyQuestionsTakeTime) {
  for (const char* path : {"/readyz", "/metrics", "/", "/assets/a.js", "/api/v1/live",
                           "/api/v1/incidents/follow", "/api/v1/anomalies/follow"}) {
    EXPECT_TRUE(AnsweredQuickly(path)) << path;
  }
  for (const char* path : {"/plain", "/api/v1/top", "/api/v1/incidents", "/api/v1/liver"}) {
    EXPECT_FALSE(AnsweredQuickly(path)) << path;
  }
}

TEST_F(RouterTest, WhatIsTooMuchCountsAsAQuestionOrAsAnOrder) {
  const auto much = [](const v1::TopRequest&, const CallContext&) -> absl::StatusOr<v1::TopAnswer> {
    return absl::ResourceExhaustedError("more than there may be");
  };
  options_.api.Add<v1::TopRequest, v1::TopAnswer>("all", much);
  options_.api.AddOrder<v1::TopRequest, v1::TopAnswer>("keep", much);
  const Response question = Ask(Get("/api/v1/all", collector::Role::kViewer));
  EXPECT_EQ(question.status, 429);
  EXPECT_EQ(question.refusal, Refusal::kTooLarge);
  Request order = Get("/api/v1/keep", collector::Role::kViewer);
  order.method = "POST";
  order.content_type = "application/json";
  order.body = "{}";
  const Response refused = Ask(order);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.refusal, Refusal::kNoRoom);
}

TEST_F(RouterTest, NotReadyGivesTheReason) {
  options_.ready = [] { return absl::UnavailableError("store: disk full"); };
  const auto response = Ask(Get("/readyz"));
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "{\"error\": \"store: disk full\"}\n");
}

TEST_F(RouterTest, WithoutACertificateOnlyPublicMetricsAreOpen) {
  EXPECT_EQ(Ask(Get("/metrics")).status, 401);
  EXPECT_EQ(Ask(Get("/api/v1/top")).status, 401);
  options_.metrics_public = true;
  EXPECT_EQ(Ask(Get("/metrics")).status, 200);
  EXPECT_EQ(Ask(Get("/api/v1/top")).status, 401);
}

TEST_F(RouterTest, ANodesCertificateReadsNothing) {
  EXPECT_EQ(Ask(Get("/metrics", collector::Role::kNode)).status, 403);
  EXPECT_EQ(Ask(Get("/api/v1/top", collector::Role::kNode)).status, 403);
}

TEST_F(RouterTest, ViewersAndOperatorsRead) {
  EXPECT_EQ(Ask(Get("/metrics", collector::Role::kViewer)).status, 200);
  EXPECT_EQ(Ask(Get("/api/v1/top", collector::Role::kOperator)).status, 200);
}

TEST_F(RouterTest, PagesOfOtherSitesCannotUseAVisitorsCertificate) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.sec_fetch_site = "cross-site";
  EXPECT_EQ(Ask(request).status, 403);
}

TEST_F(RouterTest, AnOriginMustBeOurs) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.host = "collector:7480";
  for (const char* origin : {"https://evil", "null", "http://collector:7480"}) {
    request.origin = origin;
    EXPECT_EQ(Ask(request).status, 403) << origin;
  }
  request.origin = "https://collector:7480";
  EXPECT_EQ(Ask(request).status, 200);
  request.sec_fetch_site = "same-site";
  EXPECT_EQ(Ask(request).status, 403);
}

TEST_F(RouterTest, FormsOfOtherSitesAreRefusedByTheirContentType) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.method = "POST";
  request.content_type = "text/plain";
  request.body = "{}";
  EXPECT_EQ(Ask(request).status, 400);
}

TEST_F(RouterTest, OtherMethodsAreRefused) {
  auto request = Get("/api/v1/top", collector::Role::kOperator);
  request.method = "DELETE";
  EXPECT_EQ(Ask(request).status, 405);
}

TEST_F(RouterTest, ParametersBecomeFieldsOfTheQuestion) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.query = {{"vital", "blocking/disk"},
                   {"limit", "7"},
                   {"by", "DIMENSION_SITE"},
                   {"selection.nodes", "a"},
                   {"selection.nodes", "b"},
                   {"selection.start_s", "1.5"},
                   {"idle", "true"}};
  EXPECT_EQ(Ask(request).status, 200);
  EXPECT_EQ(asked_.vital(), "blocking/disk");
  EXPECT_EQ(asked_.limit(), 7u);
  EXPECT_EQ(asked_.by(), v1::DIMENSION_SITE);
  EXPECT_EQ(asked_.selection().nodes_size(), 2);
  EXPECT_EQ(asked_.selection().start_s(), 1.5);
  EXPECT_TRUE(asked_.idle());
}

TEST_F(RouterTest, AWrongParameterIsNamedWithWhatThereIs) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.query = {{"vitall", "cpu"}};
  const auto unknown = Ask(request);
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, HasSubstr("vitall"));
  EXPECT_THAT(unknown.body, HasSubstr("selection.start_s, selection.end_s"));
  EXPECT_THAT(unknown.body, HasSubstr(", vital, by"));
  request.query = {{"limit", "-1"}};
  EXPECT_THAT(Ask(request).body, HasSubstr("\\\"-1\\\" is not a 32-bit number"));
  request.query = {{"by", "SITES"}};
  EXPECT_THAT(Ask(request).body, HasSubstr("DIMENSION_STACK"));
}

TEST_F(RouterTest, ATimeIsSecondsOrADate) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.query = {{"selection.start_s", "2026-02-16T17:00:00Z"},
                   {"selection.end_s", "2026-02-16T18:00:00.5+01:00"}};
  EXPECT_EQ(Ask(request).status, 200);
  EXPECT_EQ(asked_.selection().start_s(), 1771261200);
  EXPECT_EQ(asked_.selection().end_s(), 1771261200.5);
  for (const char* none : {"-1h", "infinite-future", "nan", "2026-02-16"}) {
    request.query = {{"selection.start_s", none}};
    const auto refused = Ask(request);
    EXPECT_EQ(refused.status, 400) << none;
    EXPECT_THAT(refused.body, HasSubstr("is not a time: seconds since 1970, or as in 2026-"));
  }
}

TEST_F(RouterTest, AParameterMustBeText) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.query = {{"vital", "\xe0\x9d"}};
  EXPECT_EQ(Ask(request).status, 400);
}

TEST_F(RouterTest, JsonOfABodyIsTheQuestion) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.method = "POST";
  request.content_type = "application/json; charset=utf-8";
  request.body = R"({"vital": "cpu", "selection": {"start_s": 5}})";
  EXPECT_EQ(Ask(request).status, 200);
  EXPECT_EQ(asked_.vital(), "cpu");
  request.body = R"({"vital": )";
  EXPECT_EQ(Ask(request).status, 400);
  request.body = R"({"no_such": 1})";
  EXPECT_EQ(Ask(request).status, 400);
}

TEST_F(RouterTest, HostileNamesStayInsideTheirJsonString) {
  const auto response = Ask(Get("/api/v1/top", collector::Role::kViewer));
  EXPECT_THAT(response.body, HasSubstr(R"(evil\"\n\u001b[31m)"));
  EXPECT_THAT(response.body, HasSubstr("\"watched_s\":58.5"));
}

TEST_F(RouterTest, BinaryIsGivenToWhoAsksForIt) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.accept = "application/x-protobuf";
  const auto response = Ask(request);
  v1::TopAnswer answer;
  ASSERT_TRUE(answer.ParseFromString(response.body));
  EXPECT_EQ(answer.coverage().watched_s(), 58.5);
}

TEST_F(RouterTest, AFormatMakesAFileOfTheAnswer) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.query = {{"vital", "cpu"}, {"format", "csv"}};
  const Response file = Ask(request);
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.content_type, "text/csv; charset=utf-8");
  EXPECT_THAT(file.headers,
              ::testing::ElementsAre(::testing::Pair("Content-Disposition",
                                                     "attachment; filename=\"telltale-top.csv\"")));
  EXPECT_TRUE(file.body.starts_with("vital,sub,unit,by,name,")) << file.body;
  EXPECT_EQ(asked_.vital(), "cpu");
  request.query = {{"format", "json"}};
  EXPECT_EQ(Ask(request).content_type, "application/json");
}

TEST_F(RouterTest, AFormatNobodyKnowsIsRefusedBeforeTheWork) {
  auto request = Get("/api/v1/top", collector::Role::kViewer);
  request.query = {{"vital", "cpu"}, {"format", "pprof"}};
  const Response refused = Ask(request);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("this answer comes as json, csv"));
  EXPECT_EQ(asked_.vital(), "");
}

TEST_F(RouterTest, AnUnknownAnswerListsThoseThereAre) {
  const auto response = Ask(Get("/api/v1/tops", collector::Role::kViewer));
  EXPECT_EQ(response.status, 404);
  EXPECT_THAT(response.body, HasSubstr("there are: top"));
}

TEST(ErrorResponseTest, IsOneLineOfJsonWhateverTheMessageHolds) {
  const auto response = ErrorResponse(400, "a\"b\\c\n\x80\x01");
  EXPECT_EQ(response.body, "{\"error\": \"a\\\"b\\\\c\\u000a\\ufffd\\u0001\"}\n");
}

TEST(PercentDecodeTest, RefusesBrokenEscapesAndZeroBytes) {
  EXPECT_EQ(*PercentDecode("a%2Fb", false), "a/b");
  EXPECT_FALSE(PercentDecode("a%2", false).ok());
  EXPECT_FALSE(PercentDecode("a%zz", false).ok());
  EXPECT_FALSE(PercentDecode("a%00", false).ok());
}

TEST(IdentityTest, TakesOnlyKnownRolesAndPlainNames) {
  EXPECT_TRUE(collector::ParseIdentity("telltale://viewer/grafana").ok());
  EXPECT_FALSE(collector::ParseIdentity("telltale://admin/x").ok());
  EXPECT_FALSE(collector::ParseIdentity("telltale://viewer/").ok());
  EXPECT_FALSE(collector::ParseIdentity("telltale://viewer/a/b").ok());
  EXPECT_FALSE(collector::ParseIdentity("telltale://viewer/-x").ok());
  EXPECT_FALSE(collector::ParseIdentity("https://viewer/a").ok());
}

}  // namespace
}  // namespace telltale::web
