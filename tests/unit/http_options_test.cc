// The limits of the HTTPS server are those of the configuration.

#include "collector/http_options.h"

#include <gtest/gtest.h>

namespace telltale::collector {
namespace {

using std::chrono::seconds;

TEST(HttpOptionsTest, EachLimitIsTheOneThatWasConfigured) {
  config::Sources sources;
  sources.default_file = "/nonexistent";
  sources.flags = {{"http.connections", "7"},   {"http.connections_per_address", "3"},
                   {"http.answers", "5"},       {"http.header_bytes", "8KiB"},
                   {"http.body_bytes", "2MiB"}, {"http.handshake", "4s"},
                   {"http.request", "1min"},    {"http.idle", "6s"},
                   {"http.write", "8s"},        {"ingest.connection_age", "2h"}};
  const auto loaded = LoadConfig(sources);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const web::HttpServerOptions http = HttpOptionsOf(loaded->values, {"", 7480});
  EXPECT_EQ(http.address, "0.0.0.0");
  EXPECT_EQ(http.port, 7480);
  EXPECT_EQ(http.max_connections, 7u);
  EXPECT_EQ(http.max_connections_per_address, 3u);
  EXPECT_EQ(http.worker_threads, 5);
  EXPECT_EQ(http.max_header_bytes, 8u << 10);
  EXPECT_EQ(http.max_body_bytes, 2u << 20);
  EXPECT_EQ(http.handshake_timeout, seconds(4));
  EXPECT_EQ(http.request_timeout, seconds(60));
  EXPECT_EQ(http.idle_timeout, seconds(6));
  EXPECT_EQ(http.write_timeout, seconds(8));
  EXPECT_EQ(http.max_connection_age, seconds(7200));
}

TEST(HttpOptionsTest, ALimitThatLetsNobodyInIsRefused) {
  for (const auto& [key, value] : {std::pair{"http.connections", "0"},
                                   {"http.answers", "65"},
                                   {"http.header_bytes", "1KiB"},
                                   {"http.body_bytes", "1GiB"},
                                   {"http.request", "0s"},
                                   {"http.idle", "2h"}}) {
    config::Sources sources;
    sources.default_file = "/nonexistent";
    sources.flags = {{key, value}};
    const auto loaded = LoadConfig(sources);
    EXPECT_FALSE(loaded.ok()) << key;
    EXPECT_NE(std::string(loaded.status().message()).find(key), std::string::npos)
        << loaded.status();
  }
}

}  // namespace
}  // namespace telltale::collector
