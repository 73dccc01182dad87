#include "collector/access/token_secret.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/random_id.h"

namespace telltale::access {
namespace {

using collector::kIdDigits;
constexpr size_t kRandomBytes = 32;

std::string DigestOf(std::string_view secret) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof digest);
}

}  // namespace

absl::StatusOr<TokenSecret> NewTokenSecret(const char* step, std::string_view prefix,
                                           const std::function<bool(const std::string&)>& taken) {
  absl::StatusOr<std::string> id = collector::NewId(step, taken);
  if (!id.ok()) return id.status();
  const absl::StatusOr<std::string> random = collector::RandomHex(step, kRandomBytes);
  if (!random.ok()) return random.status();
  TokenSecret secret;
  secret.whole = absl::StrCat(std::string(prefix), *id, "_", *random);
  secret.sha256 = DigestOf(secret.whole);
  secret.id = *std::move(id);
  return secret;
}

std::optional<std::string> TokenIdOf(std::string_view prefix, std::string_view secret) {
  const size_t whole_bytes = prefix.size() + kIdDigits + 1 + 2 * kRandomBytes;
  if (secret.size() != whole_bytes || !secret.starts_with(prefix)) return std::nullopt;
  return std::string(secret.substr(prefix.size(), kIdDigits));
}

bool IsSecretOf(std::string_view secret, std::string_view sha256) {
  const std::string digest = DigestOf(secret);
  return sha256.size() == digest.size() &&
         CRYPTO_memcmp(sha256.data(), digest.data(), digest.size()) == 0;
}

}  // namespace telltale::access
