#include "collector/identity.h"

#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/codec.h"

namespace telltale::collector {
namespace {

constexpr const char* kScheme = "telltale://";
constexpr size_t kShownBytes = 80;

}  // namespace

const char* RoleName(Role role) {
  switch (role) {
    case Role::kNode:
      return "node";
    case Role::kOperator:
      return "operator";
    case Role::kViewer:
      return "viewer";
  }
  return "";
}

absl::StatusOr<Identity> ParseIdentity(const std::string& uri) {
  const std::string rest =
      absl::StartsWith(uri, kScheme) ? uri.substr(std::string(kScheme).size()) : "";
  const size_t slash = rest.find('/');
  const std::string role = rest.substr(0, slash);
  Identity identity;
  identity.name = slash == std::string::npos ? "" : rest.substr(slash + 1);
  bool known = false;
  for (const Role candidate : {Role::kNode, Role::kOperator, Role::kViewer}) {
    if (role == RoleName(candidate)) {
      identity.role = candidate;
      known = true;
    }
  }
  if (!known || !proto::ValidNodeName(identity.name)) {
    return absl::UnauthenticatedError(absl::StrCat("certificate: identity ",
                                                   proto::SanitizeText(uri, kShownBytes),
                                                   " is not telltale://node|operator|viewer/NAME "
                                                   "with a name of 1 to 128 of a-z A-Z 0-9 . _ -"));
  }
  return identity;
}

absl::StatusOr<Identity> IdentityOf(const std::vector<std::string>& uris) {
  const std::string* found = nullptr;
  for (const std::string& uri : uris) {
    if (!absl::StartsWith(uri, kScheme)) continue;
    if (found != nullptr) {
      return absl::UnauthenticatedError(
          "certificate: names two telltale:// identities, must be one; issue another");
    }
    found = &uri;
  }
  if (found == nullptr) {
    return absl::UnauthenticatedError(
        "certificate: has no URI telltale://node|operator|viewer/NAME; issue one with telltale pki "
        "issue");
  }
  return ParseIdentity(*found);
}

absl::StatusOr<Identity> IdentityOf(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  std::vector<std::string> uris;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                      static_cast<size_t>(ASN1_STRING_length(text)));
  }
  return IdentityOf(uris);
}

}  // namespace telltale::collector
