// Tokens a node enrols with: each is good for some uses, for a while, for names that fit a pattern.
// What one is made of and what is kept of it: collector/access/token_secret.h.
//
// Not thread-safe: the desk that owns it locks. Kept in the catalog (table 14).

#ifndef TELLTALE_COLLECTOR_ENROLL_ENROLL_TOKENS_H_
#define TELLTALE_COLLECTOR_ENROLL_ENROLL_TOKENS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "telltale/v1/enroll.pb.h"

namespace telltale::enroll {

class EnrollTokens {
 public:
  static constexpr size_t kMaxTokens = 10'000;
  static constexpr uint32_t kMaxUses = 10'000;
  static constexpr uint64_t kUsualLifetimeS = 3600;
  static constexpr uint64_t kShortestLifetimeS = 60;
  static constexpr uint64_t kLongestLifetimeS = 30ull * 86400;
  static constexpr uint64_t kRememberedNs = 86400ull * 1'000'000'000;

  explicit EnrollTokens(storage::Catalog* catalog) : catalog_(catalog) {}

  // DataLoss: an entry that cannot be read.
  absl::Status Load();

  struct Created {
    v1::EnrollToken token;
    std::string secret;
  };
  // Durable when it returns. InvalidArgument: pattern, uses, lifetime; ResourceExhausted.
  absl::StatusOr<Created> Create(const v1::CreateEnrollTokenRequest& request, const std::string& by,
                                 uint64_t now_ns);

  struct Revoked {
    v1::EnrollToken token;
    bool changed = false;
  };
  absl::StatusOr<Revoked> Revoke(const std::string& id, const std::string& by, uint64_t now_ns);

  std::vector<v1::EnrollToken> List() const;

  // The token of this secret if it is good for one more use by `node`. Unauthenticated: unknown,
  // ended, used up or revoked; PermissionDenied: not for that name. It says which only to who has
  // the whole secret. With `spent` a token without uses left is good too: for a repetition.
  absl::StatusOr<v1::StoredEnrollToken> Find(const std::string& secret, const std::string& node,
                                             uint64_t now_ns, bool spent) const;
  // One use less, within the caller's transaction; when that is committed, Keep.
  static void Spend(v1::StoredEnrollToken& token, storage::Transaction& transaction);
  void Keep(const v1::StoredEnrollToken& token) { tokens_[token.id()] = token; }

 private:
  void ForgetEnded(storage::Transaction& transaction, uint64_t now_ns,
                   std::vector<std::string>* gone) const;

  storage::Catalog* const catalog_;
  std::map<std::string, v1::StoredEnrollToken> tokens_;  // by id
};

// Whether the name fits: * any letters, ? one.
bool FitsPattern(const std::string& pattern, const std::string& node);
// Exactly one name fits it.
bool IsOneName(const std::string& pattern);

}  // namespace telltale::enroll

#endif  // TELLTALE_COLLECTOR_ENROLL_ENROLL_TOKENS_H_
