// What may come through the HTTPS port: requests that are two, paths that lead elsewhere, and more
// than anybody would send, or slower.

#include <thread>

#include "tests/integration/hostile_rig.h"
#include "tests/support/held_connection.h"
#include "tests/support/program.h"

namespace telltale::testing {
namespace {

class HostileHttpTest : public HostileTest {
 protected:
  // The status of the first answer; afterwards the connection must be closed.
  int OneAnswer(const std::string& bytes) {
    const auto client = Https(viewer_);
    client->Send(bytes);
    const int status = client->Read().status;
    EXPECT_EQ(client->Read().status, 0) << "a second answer";
    return status;
  }
  // A request with a second one hidden in it.
  int Smuggled(const std::string& headers, const std::string& body = "0\r\n\r\n") {
    return OneAnswer("POST /api/v1/nodes HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n" + body +
                     "GET /api/v1/status HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  HttpReply Get(const std::string& target, const std::string& headers = "") {
    return Https(viewer_)->Get(target, headers);
  }
};

TEST_F(HostileHttpTest, Smuggling) {
  Attack("a length and chunks",
         [&] { EXPECT_EQ(Smuggled("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400); });
  Attack("chunks and a length",
         [&] { EXPECT_EQ(Smuggled("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400); });
  Attack("two lengths",
         [&] { EXPECT_EQ(Smuggled("Content-Length: 5\r\nContent-Length: 0\r\n"), 400); });
  Attack("one length twice",
         [&] { EXPECT_EQ(Smuggled("Content-Length: 5\r\nContent-Length: 5\r\n"), 400); });
  Attack("a length that is no number", [&] {
    for (const char* length : {"+5", "5,5", "0x5", "-1", "18446744073709551621"}) {
      EXPECT_EQ(Smuggled(std::string("Content-Length: ") + length + "\r\n"), 400) << length;
    }
  });
  Attack("an encoding nobody knows", [&] {
    for (const char* encoding : {"gzip", "xchunked", "chunked, identity", "identity"}) {
      EXPECT_EQ(Smuggled(std::string("Transfer-Encoding: ") + encoding + "\r\n"), 400) << encoding;
    }
  });
  Attack("chunks in HTTP/1.0", [&] {
    EXPECT_EQ(OneAnswer("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  });
  Attack("a folded header", [&] { EXPECT_EQ(Smuggled("X: a\r\n Content-Length: 5\r\n"), 400); });
  Attack("a blank before the colon", [&] { EXPECT_EQ(Smuggled("Content-Length : 5\r\n"), 400); });
  Attack("a bare line feed", [&] {
    EXPECT_EQ(OneAnswer("GET / HTTP/1.1\nHost: h\n\n"), 400);
    EXPECT_EQ(Smuggled("X: a\nContent-Length: 5\r\n"), 400);
  });
  Attack("a bare carriage return",
         [&] { EXPECT_EQ(Smuggled("X: a\rContent-Length: 5\r\n"), 400); });
  Attack("a zero byte in a header",
         [&] { EXPECT_EQ(Smuggled(std::string("X: a\0b\r\n", 8)), 400); });
  Attack("two hosts", [&] { EXPECT_EQ(Smuggled("Host: other\r\n"), 400); });
  Attack("no host", [&] { EXPECT_EQ(OneAnswer("GET / HTTP/1.1\r\n\r\n"), 400); });
  Attack("another version", [&] {
    EXPECT_EQ(OneAnswer("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400);
    EXPECT_EQ(OneAnswer("GET /\r\n\r\n"), 400);
  });
  Attack("chunks that lie", [&] {
    for (const char* chunks : {"zz\r\nx\r\n0\r\n\r\n", "-1\r\nx\r\n", "ffffffffffffffffff\r\nx\r\n",
                               "1\r\nxGET / HTTP/1.1\r\n\r\n"}) {
      EXPECT_EQ(
          Smuggled("Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", chunks), 400)
          << chunks;
    }
  });
}

TEST_F(HostileHttpTest, Paths) {
  Attack("a path that climbs", [&] {
    for (const char* path :
         {"/../../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
          "/api/v1/../../etc/passwd", "//etc/passwd", "/.ssh/id_rsa", "/api/v1/nodes/..",
          "/metrics/../../store/CURRENT", "/..\\..\\store"}) {
      const HttpReply reply = Get(path);
      EXPECT_EQ(reply.status, 404) << path;
      EXPECT_EQ(reply.body.find("root:"), std::string::npos);
    }
  });
  Attack("a path of the wrong shape", [&] {
    for (const char* path :
         {"/%00", "/api/v1/nodes%00.html", "/%zz", "/%", "http://other/api/v1/nodes", "*"}) {
      EXPECT_EQ(Get(path).status, 400) << path;
    }
  });
  Attack("a header hidden in a path", [&] {
    const HttpReply reply = Get("/nothing%0d%0aSet-Cookie:%20evil=1");
    EXPECT_EQ(reply.status, 404);
    EXPECT_FALSE(reply.headers.contains("set-cookie"));
    EXPECT_EQ(reply.body.find('\r'), std::string::npos);
  });
  Attack("a method nobody needs", [&] {
    for (const char* method : {"PUT", "DELETE", "TRACE", "CONNECT", "OPTIONS"}) {
      const auto client = Https(viewer_);
      client->Send(std::string(method) + " /api/v1/nodes HTTP/1.1\r\nHost: h\r\n\r\n");
      EXPECT_EQ(client->Read().status, 405) << method;
    }
  });
  Attack("a page of another site asks",
         [&] { EXPECT_EQ(Get("/api/v1/nodes", "Sec-Fetch-Site: cross-site\r\n").status, 403); });
  Attack("a form of another site posts", [&] {
    EXPECT_EQ(Https(viewer_)
                  ->Post("/api/v1/top", "application/x-www-form-urlencoded", "vital=cpu")
                  .status,
              400);
    EXPECT_EQ(Https(viewer_)->Post("/api/v1/top", "text/plain", "{}").status, 400);
  });
}

TEST_F(HostileHttpTest, TooMuch) {
  Attack("headers above the limit", [&] {
    EXPECT_EQ(Get("/", "X: " + std::string(60'000, 'a') + "\r\n").status, 431);
    EXPECT_EQ(Get("/" + std::string(60'000, 'a')).status, 431);
  });
  Attack("very many headers", [&] {
    std::string headers;
    for (int i = 0; i < 2000; ++i) headers += "A:b\r\n";
    EXPECT_EQ(Get("/", headers).status, 431);
  });
  Attack("a body above the limit", [&] {
    EXPECT_EQ(
        OneAnswer("POST /api/v1/top HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999\r\n\r\nx"),
        413);
  });
  Attack("a body without end", [&] {
    const auto client = Https(viewer_);
    client->Send(
        "POST /api/v1/top HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
    for (int i = 0; i < 64; ++i) client->Send(chunk);
    EXPECT_EQ(client->Read().status, 413);
  });
  Attack("a body of nobody known", [&] {
    const auto client = Https(std::nullopt);
    client->Send(
        "POST /api/v1/top HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        "Content-Length: 1000000\r\n\r\n{");
    EXPECT_EQ(client->Read().status, 401);
  });
  Attack("lists longer than anybody needs", [&] {
    std::string query = "/api/v1/top?vital=cpu";
    for (int i = 0; i < 65; ++i) query += "&selection.label_matches=env%3Dprod";
    EXPECT_EQ(Get(query).status, 400);
    query = "/api/v1/events?";
    for (int i = 0; i < 65; ++i) query += "types=EVENT_TYPE_EXEC&";
    EXPECT_EQ(Get(query).status, 400);
  });
  Attack("a question nested without end", [&] {
    std::string json;
    for (int i = 0; i < 50'000; ++i) json += "{\"selection\":";
    EXPECT_EQ(Https(viewer_)->Post("/api/v1/top", "application/json", json).status, 400);
    EXPECT_EQ(Get("/api/v1/top?selection.selection.selection.a=1").status, 400);
  });
  Attack("a body that claims to be compressed", [&] {
    const auto client = Https(viewer_);
    client->Send(
        "POST /api/v1/top HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        "Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n\x1f\x8b\x08xxxxxxx");
    EXPECT_EQ(client->Read().status, 400);
  });
  Attack("very many parameters", [&] {
    std::string query = "/api/v1/top?";
    for (int i = 0; i < 1000; ++i) query += "vital=c&";
    EXPECT_EQ(Get(query).status, 400);
  });
  Attack("numbers beyond their type", [&] {
    for (const char* value : {"limit=-1", "limit=4294967296", "selection.start_s=nan",
                              "selection.start_s=1e999", "by=9999", "nothing=1"}) {
      EXPECT_EQ(Get(std::string("/api/v1/top?vital=cpu&") + value).status, 400) << value;
    }
  });
  Attack("more connections than an address may have", [&] {
    std::vector<std::unique_ptr<HttpsClient>> clients;
    for (int i = 0; i < 140; ++i) clients.push_back(Https(std::nullopt));
    size_t refused = 0;
    for (const auto& client : clients) refused += client->ok() ? 0 : 1;
    EXPECT_GT(refused, 0u);
  });
}

TEST_F(HostileHttpTest, TooSlow) {
  Attack("a request that drips", [&] {
    const auto client = Https(viewer_);
    client->Send("GET / HTTP/1.1\r\nHost:");
    for (int i = 0; i < 300 && client->ok(); ++i) {
      client->Send("x");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_EQ(client->Read().status, 0);
  });
  Attack("a token that was made up", [&] {
    const auto client = Https(std::nullopt);
    for (const std::string& token :
         {std::string("Bearer x"), "Bearer telltale_00000000_" + std::string(64, '0'),
          std::string("Basic b3BlcmF0b3I6"), std::string("Bearer")}) {
      const HttpReply reply = client->Get("/api/v1/nodes", "Authorization: " + token + "\r\n");
      EXPECT_EQ(reply.status, 401) << token;
      EXPECT_EQ(reply.headers.at("www-authenticate"), "Bearer");
    }
  });
  Attack("tokens tried one after the other", [&] {
    for (int tries = 0; tries < 2000; ++tries) {
      const auto client = Https(std::nullopt);
      while (++tries < 2000) {
        const int status = client->Get("/api/v1/nodes", "Authorization: Bearer guess\r\n").status;
        if (status == 0) break;
        if (status == 429) return;
      }
    }
    ADD_FAILURE() << "2,000 tries were let through";
  });
  Attack("a node asks without end", [&] {
    for (int tries = 0; tries < 2000; ++tries) {
      const auto client = Https(attacker_);
      while (++tries < 2000) {
        const int status = client->Get("/api/v1/nodes").status;
        if (status == 0) break;
        if (status == 429) return;
      }
    }
    ADD_FAILURE() << "2,000 requests were let through";
  });
  Attack("a handshake that never comes", [&] {
    HeldConnection silent(https_port()), half(https_port());
    half.Send(kBeginOfClientHello);
    EXPECT_TRUE(silent.ClosedByPeer());
    EXPECT_TRUE(half.ClosedByPeer());
  });
}

class HostileReaderTest : public HostileTest {
 protected:
  HostileReaderTest() { more_arguments_ = {"--http-write", "1s"}; }
};

TEST_F(HostileReaderTest, TakesNothing) {
  Attack("an answer nobody takes", [&] {
    // More than both sides' socket buffers take in.
    constexpr size_t kAsked = 1000;
    std::string requests;
    for (size_t i = 0; i < kAsked; ++i) requests += "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
    const auto client = Https(viewer_);
    client->Send(requests);
    const std::string cut = "telltale_http_refused_total{reason=\"timeout\"}";
    EXPECT_TRUE(Await([&] { return Counted(cut) > 0; })) << collector_.log();
    size_t taken = 0;
    while (client->Read().complete) ++taken;
    EXPECT_LT(taken, kAsked);
  });
}

}  // namespace
}  // namespace telltale::testing
