// The files of the user interface as they leave the collector.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "collector/web/router.h"
#include "collector/web/ui_files.h"

namespace telltale::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kGzip = "\x1f\x8b";

std::map<std::string, std::string> HeadersOf(const Response& response) {
  return {response.headers.begin(), response.headers.end()};
}

TEST(UiFilesTest, EveryViewIsTheShell) {
  const auto shell = UiResponse("/index.html");
  ASSERT_TRUE(shell.has_value());
  for (const char* view :
       {"/", "/anomalies", "/incidents", "/filters", "/node", "/selection", "/compare"}) {
    const auto response = UiResponse(view);
    ASSERT_TRUE(response.has_value()) << view;
    EXPECT_EQ(response->body, shell->body);
    EXPECT_EQ(response->content_type, "text/html; charset=utf-8");
    EXPECT_EQ(HeadersOf(*response).count("Cache-Control"), 0u) << "a new collector has a new shell";
  }
}

TEST(UiFilesTest, FilesAreSentCompressedWithTheirType) {
  const auto icon = UiResponse("/icon.svg");
  ASSERT_TRUE(icon.has_value());
  EXPECT_EQ(icon->content_type, "image/svg+xml");
  EXPECT_EQ(icon->body.substr(0, 2), kGzip);
  EXPECT_EQ(HeadersOf(*icon)["Content-Encoding"], "gzip");
}

TEST(UiFilesTest, ThePolicyAllowsNothingInlineAndNoOtherSite) {
  const std::string policy = HeadersOf(*UiResponse("/"))["Content-Security-Policy"];
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("style-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("require-trusted-types-for 'script'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
}

TEST(UiFilesTest, OtherPathsAreNotOurs) {
  for (const char* path :
       {"", "/api/v1/top", "/metrics", "/plain", "/nodes", "/../index.html", "/assets/"}) {
    EXPECT_FALSE(UiResponse(path).has_value()) << path;
  }
}

TEST(UiFilesTest, TheShellIsOpenToAllAndTheAnswersAreNot) {
  RouterOptions options;
  options.ui = UiResponse;
  options.landing = [](const Request&) { return Response(); };
  const Handler handler = MakeRouter(std::move(options));
  const auto status = [&](const std::string& path) {
    Request request;
    request.method = "GET";
    request.path = path;
    return handler(request).status;
  };
  EXPECT_EQ(status("/"), 200);
  EXPECT_EQ(status("/node"), 200);
  EXPECT_EQ(status("/plain"), 401);
  EXPECT_EQ(status("/api/v1/nodes"), 401);
  EXPECT_EQ(status("/nothing"), 401);
}

TEST(UiFilesTest, ABrowserIsToldInWordsThatThereIsNoSuchPage) {
  RouterOptions options;
  options.ui = UiResponse;
  const Handler handler = MakeRouter(std::move(options));
  Request request;
  request.method = "GET";
  request.path = "/nonsense";
  request.accept = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";
  const Response page = handler(request);
  EXPECT_EQ(page.status, 404);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(page.body, UiResponse("/")->body);
  request.path = "/api/v1/nonsense";
  EXPECT_EQ(handler(request).status, 401) << "answers are no pages";
  request.path = "/nonsense";
  request.accept = "*/*";
  EXPECT_EQ(handler(request).status, 401);
}

}  // namespace
}  // namespace telltale::web
