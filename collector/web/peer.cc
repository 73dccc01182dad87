#include "collector/web/peer.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::web {
namespace {

constexpr std::string_view kScheme = "telltale://";
constexpr size_t kMaxNameBytes = 128;

bool NameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

absl::StatusOr<Peer> ParseIdentity(std::string_view uri) {
  if (!uri.starts_with(kScheme)) {
    return absl::InvalidArgumentError("identity: URI does not begin with telltale://");
  }
  uri.remove_prefix(kScheme.size());
  const size_t slash = uri.find('/');
  const std::string_view role = uri.substr(0, slash);
  const std::string_view name = slash == uri.npos ? "" : uri.substr(slash + 1);
  Peer peer;
  if (role == "operator") {
    peer.role = Role::kOperator;
  } else if (role == "viewer") {
    peer.role = Role::kViewer;
  } else if (role == "node") {
    peer.role = Role::kNode;
  } else {
    return absl::InvalidArgumentError("identity: role is not operator, viewer or node");
  }
  if (name.empty() || name.size() > kMaxNameBytes || name.front() == '-' || name.front() == '.' ||
      !std::ranges::all_of(name, NameByte)) {
    return absl::InvalidArgumentError(
        absl::StrCat("identity: name is not 1..", kMaxNameBytes, " bytes of [a-zA-Z0-9._-]"));
  }
  peer.name = std::string(name);
  return peer;
}

absl::StatusOr<Peer> PeerOfCertificate(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  absl::StatusOr<Peer> found =
      absl::UnauthenticatedError("certificate: no URI name telltale://operator|viewer|node/NAME");
  if (names == nullptr) return found;
  bool seen = false;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    const std::string_view uri(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                               static_cast<size_t>(ASN1_STRING_length(text)));
    if (!uri.starts_with(kScheme)) continue;
    // Two identities in one certificate would let its holder pick the more powerful one.
    if (seen) return absl::UnauthenticatedError("certificate: more than one telltale:// name");
    seen = true;
    found = ParseIdentity(uri);
    if (!found.ok()) return absl::UnauthenticatedError(found.status().message());
  }
  return found;
}

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kOperator:
      return "operator";
    case Role::kViewer:
      return "viewer";
    case Role::kNode:
      return "node";
  }
  return "?";
}

}  // namespace telltale::web
