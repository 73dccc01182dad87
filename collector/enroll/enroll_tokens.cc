#include "collector/enroll/enroll_tokens.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/access/token_secret.h"
#include "collector/enroll/enroll_keys.h"
#include "proto/codec.h"
#include "sketch/time_units.h"
#include "storage/catalog_damage.h"
#include "storage/keys.h"

namespace telltale::enroll {
namespace {

constexpr std::string_view kPrefix = "enroll_";

absl::Status BadToken(std::string_view why) {
  return absl::UnauthenticatedError(
      absl::StrCat("enrol: the token ", absl::string_view(why.data(), why.size()),
                   "; an operator makes another: telltale enroll token"));
}

bool ValidPattern(const std::string& pattern) {
  std::string name = pattern;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '*' || c == '?'; }, 'x');
  return proto::ValidNodeName(name);
}

v1::EnrollToken Shown(const v1::StoredEnrollToken& stored) {
  v1::EnrollToken token;
  token.set_id(stored.id());
  token.set_pattern(stored.pattern());
  token.set_uses(stored.uses());
  token.set_used(stored.used());
  token.set_created_by(stored.created_by());
  token.set_created_s(static_cast<double>(stored.created_ns()) * 1e-9);
  token.set_expires_s(static_cast<double>(stored.expires_ns()) * 1e-9);
  token.set_revoked_by(stored.revoked_by());
  return token;
}

}  // namespace

bool FitsPattern(const std::string& pattern, const std::string& node) {
  return fnmatch(pattern.c_str(), node.c_str(), FNM_NOESCAPE) == 0;
}

bool IsOneName(const std::string& pattern) {
  return pattern.find_first_of("*?") == std::string::npos;
}

absl::Status EnrollTokens::Load() {
  return storage::ReadReadable(
             *catalog_, Prefix(Kind::kToken), "enrolment tokens",
             "who holds one is refused and needs another: telltale enroll token",
             [&](std::string_view key, std::string_view value) {
               v1::StoredEnrollToken token;
               if (!token.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
                   Key(Kind::kToken, token.id()) != key) {
                 return absl::DataLossError("it is no enrolment token");
               }
               tokens_[token.id()] = std::move(token);
               return absl::OkStatus();
             })
      .status();
}

void EnrollTokens::ForgetEnded(storage::Transaction& transaction, uint64_t now_ns,
                               std::vector<std::string>* gone) const {
  for (const auto& [id, token] : tokens_) {
    const uint64_t ended = token.revoked_ns() != 0 ? token.revoked_ns() : token.expires_ns();
    if (now_ns < ended || now_ns - ended < kRememberedNs) continue;
    transaction.Delete(Key(Kind::kToken, id));
    gone->push_back(id);
  }
}

absl::StatusOr<EnrollTokens::Created> EnrollTokens::Create(
    const v1::CreateEnrollTokenRequest& request, const std::string& by, uint64_t now_ns) {
  if (!ValidPattern(request.pattern())) {
    return absl::InvalidArgumentError(
        absl::StrCat("enrol: node ", proto::SanitizeText(request.pattern(), 64),
                     " must be 1 to 128 of a-z A-Z 0-9 . _ - and * ? for any"));
  }
  const uint32_t uses = request.uses() == 0 ? 1 : request.uses();
  if (uses > kMaxUses) {
    return absl::InvalidArgumentError(
        absl::StrCat("enrol: ", uses, " uses must be 1 to ", kMaxUses));
  }
  const uint64_t lifetime_s = request.lifetime_s() == 0 ? kUsualLifetimeS : request.lifetime_s();
  if (lifetime_s < kShortestLifetimeS || lifetime_s > kLongestLifetimeS) {
    return absl::InvalidArgumentError(absl::StrCat("enrol: a token for ", lifetime_s,
                                                   " s must be for ", kShortestLifetimeS, " to ",
                                                   kLongestLifetimeS, " s"));
  }
  auto transaction = catalog_->Begin();
  std::vector<std::string> gone;
  ForgetEnded(*transaction, now_ns, &gone);
  if (tokens_.size() - gone.size() >= kMaxTokens) {
    return absl::ResourceExhaustedError(
        absl::StrCat("enrol: there are ", kMaxTokens, " tokens; let some expire"));
  }
  const auto secret = access::NewTokenSecret(
      "enrol", kPrefix, [this](const std::string& id) { return tokens_.contains(id); });
  if (!secret.ok()) return secret.status();

  v1::StoredEnrollToken stored;
  stored.set_id(secret->id);
  stored.set_pattern(request.pattern());
  stored.set_uses(uses);
  stored.set_secret_sha256(secret->sha256);
  stored.set_created_by(by);
  stored.set_created_ns(now_ns);
  stored.set_expires_ns(now_ns + lifetime_s * kNsPerS);
  transaction->Put(Key(Kind::kToken, secret->id), proto::Canonical(stored));
  if (absl::Status status = transaction->Commit(storage::Durability::kDurable); !status.ok()) {
    return status;
  }
  for (const std::string& ended : gone) tokens_.erase(ended);
  Keep(stored);
  return Created{Shown(stored), secret->whole};
}

absl::StatusOr<EnrollTokens::Revoked> EnrollTokens::Revoke(const std::string& id,
                                                           const std::string& by, uint64_t now_ns) {
  const auto found = tokens_.find(id);
  if (found == tokens_.end()) {
    return absl::NotFoundError(absl::StrCat("enrol: there is no token ",
                                            proto::SanitizeText(id, 64),
                                            "; telltale enroll list shows them"));
  }
  if (found->second.revoked_ns() != 0) return Revoked{Shown(found->second), false};
  v1::StoredEnrollToken stored = found->second;
  stored.set_revoked_ns(now_ns);
  stored.set_revoked_by(by);
  auto transaction = catalog_->Begin();
  transaction->Put(Key(Kind::kToken, id), proto::Canonical(stored));
  if (absl::Status status = transaction->Commit(storage::Durability::kDurable); !status.ok()) {
    return status;
  }
  Keep(stored);
  return Revoked{Shown(stored), true};
}

std::vector<v1::EnrollToken> EnrollTokens::List() const {
  std::vector<v1::EnrollToken> list;
  for (const auto& [id, token] : tokens_) list.push_back(Shown(token));
  std::ranges::stable_sort(list, {}, &v1::EnrollToken::created_s);
  return list;
}

absl::StatusOr<v1::StoredEnrollToken> EnrollTokens::Find(const std::string& secret,
                                                         const std::string& node, uint64_t now_ns,
                                                         bool spent) const {
  const auto id = access::TokenIdOf(kPrefix, secret);
  if (!id) return BadToken("has not the form of one");
  const auto found = tokens_.find(*id);
  if (found == tokens_.end() || !access::IsSecretOf(secret, found->second.secret_sha256())) {
    return BadToken("is unknown");
  }
  const v1::StoredEnrollToken& token = found->second;
  if (token.revoked_ns() != 0) return BadToken(absl::StrCat(token.id(), " is revoked"));
  if (now_ns >= token.expires_ns()) return BadToken(absl::StrCat(token.id(), " has expired"));
  if (token.used() >= token.uses() && !spent) {
    return BadToken(absl::StrCat(token.id(), " is used up"));
  }
  if (!FitsPattern(token.pattern(), node)) {
    return absl::PermissionDeniedError(absl::StrCat("enrol: token ", token.id(), " is for nodes ",
                                                    token.pattern(), ", not for ", node));
  }
  return token;
}

void EnrollTokens::Spend(v1::StoredEnrollToken& token, storage::Transaction& transaction) {
  token.set_used(token.used() + 1);
  transaction.Put(Key(Kind::kToken, token.id()), proto::Canonical(token));
}

}  // namespace telltale::enroll
