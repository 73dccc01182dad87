#include "collector/enroll/issuer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "collector/pki/certificate.h"

namespace telltale::enroll {
namespace {

constexpr size_t kMaxPem = 1 << 20;
constexpr size_t kMaxCommonName = 64;

absl::StatusOr<std::string> Read(const char* option, const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMaxPem + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (!text.empty() && text.size() <= kMaxPem) return text;
  return absl::FailedPreconditionError(
      absl::StrCat("enrol: ", option, " ", file, " cannot be read or is no PEM file",
                   stream.is_open() ? "" : absl::StrCat(": ", std::strerror(errno)),
                   "; make it with telltale pki issuing, or correct ", option));
}

absl::StatusOr<pki::KeyPair> ReadPair(const Issuer::Options& options) {
  auto cert = Read("enroll.ca_cert", options.cert);
  if (!cert.ok()) return cert.status();
  auto key = Read("enroll.ca_key", options.key);
  if (!key.ok()) return key.status();
  return pki::KeyPair{*std::move(cert), *std::move(key)};
}

}  // namespace

absl::Status Issuer::Check(absl::Time now) const {
  // A key made for nobody shows whether the files would do.
  static constexpr unsigned char kProbe[] = {
      0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00, 0xd7, 0x5a, 0x98,
      0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1,
      0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};
  const auto probe =
      Sign("probe", std::string(reinterpret_cast<const char*>(kProbe), sizeof kProbe), now);
  if (!probe.ok()) return probe.status();
  return AuthoritySha256().status();
}

absl::StatusOr<Issued> Issuer::Sign(const std::string& node, const std::string& public_key_der,
                                    absl::Time now) const {
  const auto authority = ReadPair(options_);
  if (!authority.ok()) return authority.status();
  const auto facts = pki::ReadCertificates(authority->certificate);
  if (!facts.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("enrol: enroll.ca_cert ", options_.cert, ": ", facts.status().message()));
  }
  const pki::CertificateFacts& own = facts->front();
  if (now < own.not_before || now >= own.not_after) {
    return absl::FailedPreconditionError(
        absl::StrCat("enrol: enroll.ca_cert ", options_.cert, " is valid from ",
                     absl::FormatTime(own.not_before, absl::UTCTimeZone()), " to ",
                     absl::FormatTime(own.not_after, absl::UTCTimeZone()),
                     "; make another with telltale pki issuing"));
  }
  pki::Subject subject;
  subject.common_name = node.substr(0, kMaxCommonName);
  subject.uris.push_back(absl::StrCat("telltale://node/", node));
  subject.not_before = now - std::min(kBackdate, options_.validity / 2);
  subject.not_after = std::min(now + options_.validity, own.not_after);
  const auto certificate = pki::Certify(*authority, subject, public_key_der);
  if (!certificate.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("enrol: enroll.ca_cert ", options_.cert, ": ",
                                                      certificate.status().message()));
  }
  const auto signed_facts = pki::ReadCertificates(*certificate);
  if (!signed_facts.ok()) return signed_facts.status();
  Issued issued;
  issued.chain_pem = *certificate;
  if (own.subject != own.issuer) absl::StrAppend(&issued.chain_pem, authority->certificate);
  issued.serial = signed_facts->front().serial;
  issued.expires_ns = static_cast<uint64_t>(absl::ToUnixNanos(signed_facts->front().not_after));
  return issued;
}

absl::StatusOr<std::string> Issuer::Authorities() const { return Read("tls.ca", options_.trusted); }

absl::StatusOr<std::string> Issuer::AuthoritySha256() const {
  const auto text = Authorities();
  if (!text.ok()) return text.status();
  const auto facts = pki::ReadCertificates(*text);
  if (!facts.ok()) return facts.status();
  return absl::AsciiStrToLower(absl::StrReplaceAll(facts->front().sha256, {{":", ""}}));
}

}  // namespace telltale::enroll
