#include "collector/web/http_asker.h"

#include <boost/beast/core/string.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/access/address_limits.h"

namespace telltale::web {
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr auto kShown = http::field::authorization;

std::string ShownIn(const HttpAsker::Fields& head) {
  const auto value = head[kShown];
  return std::string(value.data(), value.size());
}

}  // namespace

HttpAsker::HttpAsker(const HttpServerOptions& options, std::string address)
    : options_(options), address_(std::move(address)) {}

void HttpAsker::SetCertificate(const STACK_OF(X509) * chain) {
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    certificates_.push_back(collector::CertificateId(sk_X509_value(chain, i)));
  }
  auto peer = collector::IdentityOf(sk_X509_value(chain, 0));
  if (peer.ok()) {
    peer_ = *std::move(peer);
  } else {
    peer_problem_ = std::string(peer.status().message());
  }
}

absl::Status HttpAsker::CheckCertificate() const {
  if (certificates_.empty() || !options_.check_certificate) return absl::OkStatus();
  return options_.check_certificate(certificates_);
}

bool HttpAsker::Known(const Fields& head) const {
  return peer_.has_value() && peer_->role != collector::Role::kNode && head.count(kShown) == 0 &&
         CheckCertificate().ok();
}

HttpAsker::Who HttpAsker::Find(const Fields& head) const {
  Who who;
  const size_t shown = head.count(kShown);
  if (shown == 0) {
    who.peer = peer_;
    who.problem = peer_problem_;
    if (absl::Status status = CheckCertificate(); !status.ok()) {
      who.peer.reset();
      who.problem = std::string(status.message());
    }
    return who;
  }
  const std::string value = ShownIn(head);
  absl::StatusOr<collector::Identity> peer =
      absl::UnauthenticatedError("Authorization: must be Bearer TOKEN, once");
  constexpr char kScheme[] = "bearer ";
  constexpr size_t kSchemeBytes = sizeof kScheme - 1;
  if (options_.check_token && shown == 1 &&
      beast::iequals(value.substr(0, kSchemeBytes), kScheme)) {
    who.token = value.substr(kSchemeBytes);
    peer = options_.check_token(who.token, address_);
  }
  if (peer.ok()) {
    who.peer = *std::move(peer);
  } else {
    who.bad_token = true;
    who.problem = std::string(peer.status().message());
  }
  return who;
}

absl::Status HttpAsker::MayStill(const Who& who) const {
  if (!who.peer.has_value()) return absl::OkStatus();  // what is open to all
  if (who.token.empty()) return CheckCertificate();
  return options_.token_stands ? options_.token_stands(who.token) : absl::OkStatus();
}

std::string HttpAsker::Name(const Fields& head) const {
  if (head.count(kShown) > 0) return absl::StrCat("token ", ShownIn(head));
  if (peer_.has_value()) return absl::StrCat(RoleName(peer_->role), "/", peer_->name);
  return absl::StrCat("address ", access::LimitKey(address_));
}

}  // namespace telltale::web
