#include "collector/enroll/enroll_desk.h"

#include <openssl/sha.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/enroll/enroll_keys.h"
#include "collector/pki/request.h"
#include "proto/codec.h"
#include "storage/catalog_damage.h"
#include "storage/keys.h"

namespace telltale::enroll {
namespace {

using Answer = EnrollDesk::Answer;

Answer Refuse(Outcome outcome, absl::Status status) {
  return {.outcome = outcome, .status = std::move(status)};
}

// Of everything that makes two requests the same one.
std::string DigestOf(const EnrollDesk::Asked& asked) {
  const std::string whole =
      absl::StrCat(asked.node, absl::string_view("\0", 1), asked.signing_request);
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(whole.data()), whole.size(), digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof digest);
}

absl::Time TimeOf(uint64_t ns) { return absl::FromUnixNanos(static_cast<int64_t>(ns)); }

double Seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::string DateText(uint64_t ns) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", TimeOf(ns), absl::UTCTimeZone());
}

bool IsRepetition(const std::optional<v1::StoredNodeCertificate>& known, const std::string& digest,
                  uint64_t now) {
  return known && !known->revoked() && known->request_sha256() == digest &&
         now < known->issued_ns() + EnrollDesk::kRepeatNs;
}

// Older certificates of a node that was revoked stay refused after the next one, too.
v1::StoredNodeCertificate SuccessorOf(const std::optional<v1::StoredNodeCertificate>& known) {
  v1::StoredNodeCertificate next;
  if (!known || known->revoked_ns() == 0) return next;
  next.set_revoked_ns(known->revoked_ns());
  next.set_revoked_by(known->revoked_by());
  return next;
}

Answer RefuseRevoked(const v1::StoredNodeCertificate& known) {
  return Refuse(Outcome::kDenied,
                absl::PermissionDeniedError(absl::StrCat(
                    "enrol: node ", known.node(), " was revoked by ", known.revoked_by(), " on ",
                    DateText(known.revoked_ns()),
                    "; only a token made since then for this very name brings it back: telltale "
                    "enroll token --node ",
                    known.node())));
}

v1::NodeCertificate ShownCertificate(const v1::StoredNodeCertificate& stored) {
  v1::NodeCertificate shown;
  shown.set_node(stored.node());
  shown.set_serial(stored.serial());
  shown.set_issued_s(Seconds(stored.issued_ns()));
  shown.set_expires_s(Seconds(stored.expires_ns()));
  shown.set_by(stored.by());
  shown.set_address(stored.address());
  if (stored.revoked()) {
    shown.set_revoked_by(stored.revoked_by());
    shown.set_revoked_s(Seconds(stored.revoked_ns()));
  }
  return shown;
}

Answer Repeat(const v1::StoredNodeCertificate& known) {
  return {.outcome = Outcome::kRepeated, .certificate = known};
}

}  // namespace

absl::StatusOr<std::unique_ptr<EnrollDesk>> EnrollDesk::Open(Options options) {
  std::unique_ptr<EnrollDesk> desk(new EnrollDesk(std::move(options)));
  if (absl::Status status = desk->tokens_.Load(); !status.ok()) return status;
  if (absl::Status status = desk->waiting_.Load(); !status.ok()) return status;
  if (absl::Status status = desk->EnforceAll(); !status.ok()) return status;
  return desk;
}

void EnrollDesk::Enforce(const v1::StoredNodeCertificate& latest) const {
  if (latest.revoked_ns() == 0 || options_.set_only == nullptr) return;
  std::vector<std::string> serials;
  if (!latest.revoked()) {
    serials.push_back(latest.serial());
    if (!latest.before().empty()) serials.push_back(latest.before());
  }
  options_.set_only(latest.node(), serials);
}

absl::Status EnrollDesk::EnforceAll() const {
  const std::string prefix = Prefix(Kind::kCertificate);
  return storage::ReadWhole(
      *options_.catalog, prefix, "a certificate that was revoked could be let in again",
      [&](std::string_view key, std::string_view value) {
        v1::StoredNodeCertificate stored;
        if (!stored.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          return absl::DataLossError(
              absl::StrCat("it is none of the certificate of ",
                           proto::SanitizeText(std::string(key.substr(prefix.size())), 64)));
        }
        Enforce(stored);
        return absl::OkStatus();
      });
}

absl::StatusOr<EnrollDesk::Known> EnrollDesk::CertificateOf(const std::string& node) const {
  const auto bytes = options_.catalog->Begin()->Get(Key(Kind::kCertificate, node));
  if (absl::IsNotFound(bytes.status())) return Known();
  if (!bytes.ok()) return bytes.status();
  v1::StoredNodeCertificate known;
  if (!known.ParseFromString(*bytes)) {
    return absl::DataLossError(
        absl::StrCat("enrol: what is kept of the certificate of ", node, " cannot be read"));
  }
  return Known(std::move(known));
}

Answer EnrollDesk::Issue(const Asked& asked, v1::StoredNodeCertificate certificate, uint64_t now,
                         Outcome outcome, const std::function<void(storage::Transaction&)>& also) {
  const auto key = pki::ReadRequest(asked.signing_request);
  if (!key.ok()) return Refuse(Outcome::kRequest, key.status());
  const auto issued = options_.issuer->Sign(asked.node, key->public_key_der, TimeOf(now));
  if (!issued.ok()) return Refuse(Outcome::kFailed, issued.status());
  certificate.set_node(asked.node);
  certificate.set_serial(issued->serial);
  certificate.set_issued_ns(now);
  certificate.set_expires_ns(issued->expires_ns);
  certificate.set_address(proto::SanitizeText(asked.address, 64));
  certificate.set_request_sha256(DigestOf(asked));
  certificate.set_certificate_pem(issued->chain_pem);
  auto transaction = options_.catalog->Begin();
  transaction->Put(Key(Kind::kCertificate, asked.node), proto::Canonical(certificate));
  also(*transaction);
  // Nobody is given what a crash could make us forget: a token would be good once more.
  if (absl::Status status = transaction->Commit(storage::Durability::kDurable); !status.ok()) {
    return Refuse(Outcome::kFailed, status);
  }
  Enforce(certificate);
  return {.outcome = outcome, .certificate = std::move(certificate), .key_sha256 = key->sha256};
}

Answer EnrollDesk::Enroll(const Asked& asked) {
  if (options_.issuer == nullptr) {
    return Refuse(Outcome::kDenied,
                  absl::FailedPreconditionError("enrol: this collector signs no certificates; set "
                                                "enroll.ca_cert and enroll.ca_key"));
  }
  if (!proto::ValidNodeName(asked.node)) {
    return Refuse(Outcome::kRequest,
                  absl::InvalidArgumentError(absl::StrCat(
                      "enrol: node ", proto::SanitizeText(asked.node, 64),
                      " must be 1 to 128 of a-z A-Z 0-9 . _ - and not begin with . or -")));
  }
  if (asked.token.empty() && !options_.by_hand) {
    return Refuse(Outcome::kToken, absl::UnauthenticatedError(
                                       "enrol: without a token nobody enrols here; an operator "
                                       "makes one: telltale enroll token, or sets enroll.by_hand"));
  }
  if (asked.signing_request.size() > pki::kMaxRequestBytes) {
    return Refuse(Outcome::kRequest, pki::ReadRequest(asked.signing_request).status());
  }
  const std::string digest = DigestOf(asked);
  const uint64_t now = options_.now_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = CertificateOf(asked.node);
  if (!known.ok()) return Refuse(Outcome::kFailed, known.status());
  return asked.token.empty() ? ByHand(asked, *known, digest, now)
                             : ByToken(asked, *known, digest, now);
}

Answer EnrollDesk::ByToken(const Asked& asked, const Known& known, const std::string& digest,
                           uint64_t now) {
  const bool repetition = IsRepetition(known, digest, now);
  auto token = tokens_.Find(asked.token, asked.node, now, repetition);
  if (!token.ok()) return Refuse(Outcome::kToken, token.status());
  const std::string by = absl::StrCat("token ", token->id());
  if (repetition && known->by() == by) return Repeat(*known);
  if (token->used() >= token->uses()) {
    return Refuse(Outcome::kToken, tokens_.Find(asked.token, asked.node, now, false).status());
  }
  if (known && known->revoked_ns() != 0 &&
      (token->created_ns() <= known->revoked_ns() ||
       (known->revoked() && !IsOneName(token->pattern())))) {
    return RefuseRevoked(*known);
  }
  // Who has a token for web-* must not become the web-1 there is; an operator who names it wants
  // that.
  if (known && known->expires_ns() > now && !IsOneName(token->pattern())) {
    return Refuse(
        Outcome::kDenied,
        absl::PermissionDeniedError(absl::StrCat(
            "enrol: node ", asked.node, " has a certificate until ", DateText(known->expires_ns()),
            "; only a token for this very name replaces it: telltale enroll token --node ",
            asked.node)));
  }
  v1::StoredNodeCertificate certificate = SuccessorOf(known);
  certificate.set_by(by);
  v1::StoredEnrollToken spent = *token;
  Answer answer =
      Issue(asked, std::move(certificate), now, Outcome::kIssued,
            [&](storage::Transaction& transaction) { EnrollTokens::Spend(spent, transaction); });
  if (answer.status.ok()) tokens_.Keep(spent);
  return answer;
}

Answer EnrollDesk::ByHand(const Asked& asked, const Known& known, const std::string& digest,
                          uint64_t now) {
  if (IsRepetition(known, digest, now)) return Repeat(*known);
  const v1::StoredWaiting* waiting = waiting_.Find(digest, now);
  if (waiting == nullptr) {
    const auto key = pki::ReadRequest(asked.signing_request);
    if (!key.ok()) return Refuse(Outcome::kRequest, key.status());
    v1::StoredWaiting fresh;
    fresh.set_node(asked.node);
    fresh.set_address(proto::SanitizeText(asked.address, 64));
    fresh.set_request_sha256(digest);
    fresh.set_key_sha256(key->sha256);
    fresh.set_asked_ns(now);
    const auto added = waiting_.Add(std::move(fresh));
    if (!added.ok()) {
      return Refuse(absl::IsResourceExhausted(added.status()) ? Outcome::kRate : Outcome::kFailed,
                    added.status());
    }
    return {.outcome = Outcome::kWaiting, .request = added->id(), .key_sha256 = key->sha256};
  }
  if (waiting->decided_ns() == 0) {
    return {.outcome = Outcome::kWaiting,
            .request = waiting->id(),
            .key_sha256 = waiting->key_sha256()};
  }
  if (!waiting->approved()) {
    return Refuse(Outcome::kDenied,
                  absl::PermissionDeniedError(absl::StrCat(
                      "enrol: request ", waiting->id(), " was denied by ", waiting->decided_by())));
  }
  if (known && waiting->decided_ns() <= known->revoked_ns()) return RefuseRevoked(*known);
  v1::StoredNodeCertificate certificate = SuccessorOf(known);
  certificate.set_by(waiting->decided_by());
  const std::string id = waiting->id();
  Answer answer = Issue(
      asked, std::move(certificate), now, Outcome::kIssued,
      [&](storage::Transaction& transaction) { transaction.Delete(Key(Kind::kWaiting, id)); });
  // An approval is for one certificate.
  if (answer.status.ok()) waiting_.Forget(id);
  return answer;
}

Answer EnrollDesk::Renew(const Asked& asked, const std::string& serial) {
  if (options_.issuer == nullptr) {
    return Refuse(Outcome::kDenied,
                  absl::FailedPreconditionError("enrol: this collector signs no certificates; put "
                                                "the next one there as you did this one"));
  }
  const std::string digest = DigestOf(asked);
  const uint64_t now = options_.now_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = CertificateOf(asked.node);
  if (!known.ok()) return Refuse(Outcome::kFailed, known.status());
  const Known& latest = *known;
  if (latest && latest->revoked()) return RefuseRevoked(*latest);
  if (latest && serial != latest->serial() && serial != latest->before()) {
    return Refuse(Outcome::kDenied,
                  absl::PermissionDeniedError(absl::StrCat(
                      "enrol: certificate ", serial, " of node ", asked.node, " was replaced on ",
                      DateText(latest->issued_ns()),
                      " and cannot renew; if that was not this machine, another has its name: "
                      "telltale nodes --node ",
                      asked.node)));
  }
  if (IsRepetition(latest, digest, now)) return Repeat(*latest);
  v1::StoredNodeCertificate certificate = SuccessorOf(latest);
  certificate.set_by("renewal");
  certificate.set_before(serial);
  return Issue(asked, std::move(certificate), now, Outcome::kRenewed, [](storage::Transaction&) {});
}

absl::StatusOr<EnrollTokens::Created> EnrollDesk::CreateToken(
    const v1::CreateEnrollTokenRequest& request, const std::string& by) {
  if (options_.issuer == nullptr) {
    return absl::FailedPreconditionError(
        "enrol: this collector signs no certificates; set enroll.ca_cert and enroll.ca_key "
        "(telltale pki issuing makes them) and restart it");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  return tokens_.Create(request, by, options_.now_ns());
}

absl::StatusOr<EnrollTokens::Revoked> EnrollDesk::RevokeToken(const std::string& id,
                                                              const std::string& by) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tokens_.Revoke(id, by, options_.now_ns());
}

absl::StatusOr<EnrollDesk::NodeRevoked> EnrollDesk::RevokeNode(const std::string& node,
                                                               const std::string& by) {
  if (!proto::ValidNodeName(node)) {
    return absl::InvalidArgumentError(absl::StrCat("enrol: ", proto::SanitizeText(node, 64),
                                                   " is no node's name; telltale enroll list"));
  }
  const uint64_t now = options_.now_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = CertificateOf(node);
  if (!known.ok()) return known.status();
  if (!known->has_value()) {
    const absl::Status reported =
        options_.reported == nullptr
            ? absl::NotFoundError(absl::StrCat("enrol: no node ", node, "; telltale enroll list"))
            : options_.reported(node);
    if (!reported.ok()) return reported;
  }
  v1::StoredNodeCertificate latest = known->value_or(v1::StoredNodeCertificate());
  if (latest.revoked()) return NodeRevoked{ShownCertificate(latest), false};
  latest.set_node(node);
  latest.set_revoked(true);
  latest.set_revoked_ns(now);
  latest.set_revoked_by(by);
  auto transaction = options_.catalog->Begin();
  transaction->Put(Key(Kind::kCertificate, node), proto::Canonical(latest));
  if (absl::Status status = transaction->Commit(storage::Durability::kDurable); !status.ok()) {
    return status;
  }
  Enforce(latest);
  return NodeRevoked{ShownCertificate(latest), true};
}

v1::WaitingEnrolment EnrollDesk::Shown(const v1::StoredWaiting& waiting, uint64_t now) const {
  v1::WaitingEnrolment shown;
  shown.set_id(waiting.id());
  shown.set_node(waiting.node());
  shown.set_address(waiting.address());
  shown.set_key_sha256(waiting.key_sha256());
  shown.set_asked_s(Seconds(waiting.asked_ns()));
  shown.set_state(waiting.decided_ns() == 0 ? "waiting"
                  : waiting.approved()      ? "approved"
                                            : "denied");
  shown.set_decided_by(waiting.decided_by());
  const auto known = CertificateOf(waiting.node());
  if (known.ok() && *known && (*known)->revoked()) {
    shown.set_revoked_by((*known)->revoked_by());
  } else {
    shown.set_known(known.ok() && *known && (*known)->expires_ns() > now);
  }
  return shown;
}

absl::StatusOr<EnrollDesk::Decided> EnrollDesk::Decide(const std::string& id, bool approve,
                                                       const std::string& by) {
  const uint64_t now = options_.now_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto decided = waiting_.Decide(id, approve, by, now);
  if (!decided.ok()) return decided.status();
  return Decided{Shown(decided->waiting, now), decided->changed};
}

absl::StatusOr<v1::ListEnrolmentsAnswer> EnrollDesk::List() const {
  const uint64_t now = options_.now_ns();
  v1::ListEnrolmentsAnswer answer;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (v1::EnrollToken& token : tokens_.List()) *answer.add_tokens() = std::move(token);
  for (const v1::StoredWaiting& waiting : waiting_.List(now)) {
    *answer.add_waiting() = Shown(waiting, now);
  }
  const std::string prefix = Prefix(Kind::kCertificate);
  const absl::Status scanned = options_.catalog->Begin()->Scan(
      prefix, storage::PrefixEnd(prefix), [&](std::string_view, std::string_view value) {
        v1::StoredNodeCertificate stored;
        if (!stored.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
        *answer.add_certificates() = ShownCertificate(stored);
        return true;
      });
  if (!scanned.ok()) return scanned;
  return answer;
}

size_t EnrollDesk::Waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.Undecided(options_.now_ns());
}

}  // namespace telltale::enroll
