#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>

#include "collector/tls.h"

namespace telltale::collector {
namespace {

// Ten thousand agents are connected at once and silent nearly all the time.
TEST(IdleTlsBuffersTest, AreGivenBackByEveryConnectionMadeFromThenOn) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_method()),
                                                                  &SSL_CTX_free);
  const auto gives_back = [&] {
    const std::unique_ptr<SSL, decltype(&SSL_free)> connection(SSL_new(context.get()), &SSL_free);
    return (SSL_get_mode(connection.get()) & SSL_MODE_RELEASE_BUFFERS) != 0;
  };
  EXPECT_FALSE(gives_back());
  ReleaseIdleTlsBuffers();
  EXPECT_TRUE(gives_back());
}

}  // namespace
}  // namespace telltale::collector
