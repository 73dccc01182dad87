#include "collector/access/token_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/access/access_keys.h"
#include "collector/access/token_secret.h"
#include "proto/codec.h"
#include "sketch/time_units.h"
#include "storage/catalog_damage.h"

namespace telltale::access {
namespace {

constexpr std::string_view kPrefix = "telltale_";
constexpr uint64_t kWholeNsPerS = 1'000'000'000;

double Seconds(uint64_t ns) { return static_cast<double>(ns) / kNsPerS; }

std::string Serialized(const v1::StoredToken& token) { return proto::Canonical(token); }

absl::Status BadToken(std::string_view why) {
  return absl::UnauthenticatedError(
      absl::StrCat("token: ", absl::string_view(why.data(), why.size()),
                   "; an operator makes another: telltale token create"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenBook>> TokenBook::Open(storage::Catalog* catalog, Now now) {
  std::unique_ptr<TokenBook> book(new TokenBook(catalog, std::move(now)));
  const auto read = storage::ReadReadable(
      *catalog, std::string(1, kTokenTable), "tokens",
      "who holds one is refused and needs another: telltale token create",
      [&](std::string_view key, std::string_view value) {
        v1::StoredToken token;
        if (!token.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
            TokenKey(token.id()) != key) {
          return absl::DataLossError("it is no token");
        }
        book->tokens_[token.id()].stored = std::move(token);
        return absl::OkStatus();
      });
  if (!read.ok()) return read.status();
  return book;
}

v1::Token TokenBook::Shown(const Entry& entry) {
  const v1::StoredToken& stored = entry.stored;
  v1::Token token;
  token.set_id(stored.id());
  token.set_name(stored.name());
  token.set_role(stored.role());
  token.set_created_by(stored.created_by());
  token.set_created_s(Seconds(stored.created_ns()));
  token.set_expires_s(Seconds(stored.expires_ns()));
  token.set_revoked_s(Seconds(stored.revoked_ns()));
  token.set_revoked_by(stored.revoked_by());
  token.set_last_used_s(Seconds(entry.last_used_ns));
  token.set_uses(entry.uses);
  return token;
}

absl::StatusOr<TokenBook::Created> TokenBook::Create(const v1::CreateTokenRequest& request,
                                                     const std::string& by) {
  if (!proto::ValidNodeName(request.name())) {
    return absl::InvalidArgumentError(absl::StrCat("token: name ",
                                                   proto::SanitizeText(request.name(), 64),
                                                   " must be 1 to 128 of a-z A-Z 0-9 . _ -"));
  }
  const std::string role = request.role().empty() ? "viewer" : request.role();
  if (role != RoleName(collector::Role::kViewer) && role != RoleName(collector::Role::kOperator)) {
    return absl::InvalidArgumentError(
        absl::StrCat("token: role ", proto::SanitizeText(role, 64), " must be viewer or operator"));
  }
  const uint64_t lifetime_s = request.lifetime_s() == 0 ? kUsualLifetimeS : request.lifetime_s();
  if (lifetime_s < kShortestLifetimeS || lifetime_s > kLongestLifetimeS) {
    return absl::InvalidArgumentError(absl::StrCat("token: lifetime of ", lifetime_s, " s must be ",
                                                   kShortestLifetimeS, " to ", kLongestLifetimeS,
                                                   " s"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  auto transaction = catalog_->Begin();
  const std::vector<std::string> ended = LongEnded();
  for (const std::string& gone : ended) transaction->Delete(TokenKey(gone));
  if (tokens_.size() - ended.size() >= kMaxTokens) {
    return absl::ResourceExhaustedError(
        absl::StrCat("token: there are ", kMaxTokens, "; revoke some, or let some expire"));
  }
  const auto secret = NewTokenSecret(
      "token", kPrefix, [this](const std::string& id) { return tokens_.contains(id); });
  if (!secret.ok()) return secret.status();

  Entry entry;
  v1::StoredToken& stored = entry.stored;
  stored.set_id(secret->id);
  stored.set_name(request.name());
  stored.set_role(role);
  stored.set_secret_sha256(secret->sha256);
  stored.set_created_by(by);
  stored.set_created_ns(now_());
  stored.set_expires_ns(stored.created_ns() + lifetime_s * kWholeNsPerS);
  transaction->Put(TokenKey(secret->id), Serialized(stored));
  if (absl::Status status = transaction->Commit(storage::Durability::kDurable); !status.ok()) {
    return status;
  }
  for (const std::string& gone : ended) tokens_.erase(gone);
  const Entry& kept = tokens_[secret->id] = std::move(entry);
  return Created{Shown(kept), secret->whole};
}

std::vector<std::string> TokenBook::LongEnded() const {
  const uint64_t now = now_();
  std::vector<std::string> ids;
  for (const auto& [id, entry] : tokens_) {
    const uint64_t ended_ns =
        entry.stored.revoked_ns() != 0 ? entry.stored.revoked_ns() : entry.stored.expires_ns();
    if (now >= ended_ns && now - ended_ns >= kRememberedNs) ids.push_back(id);
  }
  return ids;
}

absl::StatusOr<TokenBook::Revoked> TokenBook::Revoke(const std::string& id, const std::string& by) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tokens_.find(id);
  if (found == tokens_.end()) {
    return absl::NotFoundError(absl::StrCat("token: there is none with the id ",
                                            proto::SanitizeText(id, 64),
                                            "; telltale token list shows them"));
  }
  if (found->second.stored.revoked_ns() != 0 && !found->second.unwritten) {
    return Revoked{Shown(found->second), false};
  }
  v1::StoredToken stored = found->second.stored;
  stored.set_revoked_ns(now_());
  stored.set_revoked_by(by);
  auto transaction = catalog_->Begin();
  transaction->Put(TokenKey(id), Serialized(stored));
  // Refused from here on, even if it cannot be written: then the operator is told, and repeats it.
  const absl::Status written = transaction->Commit(storage::Durability::kDurable);
  found->second.unwritten = !written.ok();
  found->second.stored = std::move(stored);
  if (!written.ok()) return written;
  return Revoked{Shown(found->second), true};
}

std::vector<v1::Token> TokenBook::List() const {
  std::vector<v1::Token> list;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, entry] : tokens_) list.push_back(Shown(entry));
  std::ranges::stable_sort(list, {}, &v1::Token::created_s);
  return list;
}

absl::StatusOr<std::string> TokenBook::IdOfGood(std::string_view secret) const {
  const auto id = TokenIdOf(kPrefix, secret);
  if (!id) return BadToken("it has not the form of one");
  const auto found = tokens_.find(*id);
  if (found == tokens_.end() || !IsSecretOf(secret, found->second.stored.secret_sha256())) {
    return BadToken("it is unknown");
  }
  const v1::StoredToken& stored = found->second.stored;
  if (stored.revoked_ns() != 0) return BadToken(absl::StrCat(*id, " is revoked"));
  if (now_() >= stored.expires_ns()) return BadToken(absl::StrCat(*id, " has expired"));
  return *id;
}

absl::StatusOr<collector::Identity> TokenBook::Check(std::string_view secret) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto id = IdOfGood(secret);
  if (!id.ok()) return id.status();
  Entry& entry = tokens_[*id];
  entry.last_used_ns = now_();
  ++entry.uses;
  const bool operates = entry.stored.role() == RoleName(collector::Role::kOperator);
  return collector::Identity{operates ? collector::Role::kOperator : collector::Role::kViewer,
                             entry.stored.name()};
}

absl::Status TokenBook::Stands(std::string_view secret) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return IdOfGood(secret).status();
}

}  // namespace telltale::access
