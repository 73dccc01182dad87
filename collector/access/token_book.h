// Bearer tokens: what a program shows over HTTPS that cannot hold a certificate. What one is made
// of and what is kept of it: token_secret.h.
//
// Thread-safe. Owned by the collector; kept in the catalog (table 0d), which must outlive it.

#ifndef TELLTALE_COLLECTOR_ACCESS_TOKEN_BOOK_H_
#define TELLTALE_COLLECTOR_ACCESS_TOKEN_BOOK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/identity.h"
#include "storage/catalog.h"
#include "telltale/v1/access.pb.h"

namespace telltale::access {

class TokenBook {
 public:
  static constexpr size_t kMaxTokens = 1000;
  static constexpr uint64_t kUsualLifetimeS = 90ull * 86400;
  static constexpr uint64_t kShortestLifetimeS = 60;
  static constexpr uint64_t kLongestLifetimeS = 400ull * 86400;
  // Tokens that ended are listed for so long.
  static constexpr uint64_t kRememberedNs = 30ull * 86400 * 1'000'000'000;

  using Now = std::function<uint64_t()>;  // ns since 1970

  // Errors as of the catalog. Tokens that cannot be read are none: who shows one is refused.
  static absl::StatusOr<std::unique_ptr<TokenBook>> Open(storage::Catalog* catalog, Now now);

  struct Created {
    v1::Token token;
    std::string secret;  // whole, as it goes behind "Bearer "
  };
  // `by`: name of the operator. Durable when it returns. InvalidArgument: name, role or lifetime;
  // ResourceExhausted: kMaxTokens are good.
  absl::StatusOr<Created> Create(const v1::CreateTokenRequest& request, const std::string& by);

  struct Revoked {
    v1::Token token;
    bool changed = false;
  };
  // NotFound: no such id. From its return on the token is refused.
  absl::StatusOr<Revoked> Revoke(const std::string& id, const std::string& by);

  std::vector<v1::Token> List() const;

  // Who may use it. Unauthenticated: unknown, ended or revoked; it says which only to who has the
  // whole secret.
  absl::StatusOr<collector::Identity> Check(std::string_view secret);
  // Whether Check would take it; counts as no use.
  absl::Status Stands(std::string_view secret) const;

 private:
  struct Entry {
    v1::StoredToken stored;
    uint64_t last_used_ns = 0;
    uint64_t uses = 0;
    bool unwritten = false;  // revoked in memory only
  };

  TokenBook(storage::Catalog* catalog, Now now) : catalog_(catalog), now_(std::move(now)) {}
  static v1::Token Shown(const Entry& entry);
  // Whose secret it is, if it may be used. mutex_ held.
  absl::StatusOr<std::string> IdOfGood(std::string_view secret) const;
  std::vector<std::string> LongEnded() const;

  storage::Catalog* const catalog_;
  const Now now_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> tokens_;  // by id; guarded by mutex_
};

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_TOKEN_BOOK_H_
