#include "tests/fleetsim/certificates.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "collector/cli/files.h"
#include "collector/cli/pki_command.h"
#include "collector/pki/certificate.h"

namespace telltale::fleetsim {
namespace {

constexpr size_t kMaxPem = 1 << 20;
constexpr const char* kViewer = "fleetsim";

// One file a node: the key, then the certificate. Thousands of them need no fsync each.
absl::StatusOr<pki::KeyPair> Cached(const std::string& path) {
  auto text = cli::ReadFile(path, kMaxPem);
  if (!text.ok()) return text.status();
  const size_t begin = text->find("-----BEGIN CERTIFICATE");
  if (begin == std::string::npos) return absl::NotFoundError("no certificate in it");
  return pki::KeyPair{text->substr(begin), text->substr(0, begin)};
}

absl::Status Cache(const std::string& path, const pki::KeyPair& pair) {
  std::ofstream stream(path, std::ios::trunc);
  stream << pair.key << pair.certificate;
  stream.close();
  if (!stream) {
    return absl::UnavailableError(
        absl::StrCat("certificates: ", path, " cannot be written: ", std::strerror(errno)));
  }
  chmod(path.c_str(), 0600);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<agent::TlsTexts>> NodeCertificates(
    const std::string& directory, const std::vector<std::string>& nodes) {
  const auto ca = cli::ReadFile(directory + "/ca.crt", kMaxPem);
  const auto ca_key = cli::ReadFile(directory + "/ca.key", kMaxPem);
  if (!ca.ok() || !ca_key.ok()) {
    return absl::NotFoundError(
        absl::StrCat("certificates: ", (ca.ok() ? ca_key.status() : ca.status()).message(),
                     "; make the authority first: telltale pki init --dir ", directory));
  }
  const auto authority = pki::ReadCertificates(*ca);
  if (!authority.ok()) return authority.status();
  // By the authority's fingerprint, so that a new one does not find what the old one signed.
  const std::string cache =
      absl::StrCat(directory, "/nodes-", authority->front().sha256.substr(0, 8));
  if (mkdir(cache.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::UnavailableError(
        absl::StrCat("certificates: ", cache, " cannot be made: ", std::strerror(errno)));
  }
  const absl::Time now = absl::Now();
  std::vector<agent::TlsTexts> all;
  all.reserve(nodes.size());
  for (const std::string& node : nodes) {
    const std::string path = absl::StrCat(cache, "/", node, ".pem");
    auto pair = Cached(path);
    if (!pair.ok()) {
      pki::Subject subject;
      subject.common_name = node;
      subject.uris.push_back("telltale://node/" + node);
      subject.not_before = now - absl::Hours(2);
      subject.not_after = now + absl::Hours(24 * 365);
      pair = pki::Issue({*ca, *ca_key}, subject);
      if (!pair.ok()) return pair.status();
      if (absl::Status status = Cache(path, *pair); !status.ok()) return status;
    }
    all.push_back({.node = node, .ca = *ca, .cert = pair->certificate, .key = pair->key});
  }
  return all;
}

absl::StatusOr<ViewerFiles> ViewerCertificate(const std::string& directory) {
  cli::PkiFlags flags;
  flags.dir = directory;
  flags.role = "viewer";
  flags.name = kViewer;
  const auto issued = cli::PkiIssue(flags, absl::Now());
  if (!issued.ok() && !absl::IsAlreadyExists(issued.status())) return issued.status();
  const std::string base = absl::StrCat(directory, "/viewer-", kViewer);
  return ViewerFiles{directory + "/ca.crt", base + ".crt", base + ".key"};
}

}  // namespace telltale::fleetsim
