#include "collector/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::collector {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

std::optional<int64_t> UnixSeconds(const ASN1_TIME* time) {
  struct tm parts = {};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return static_cast<int64_t>(timegm(&parts));
}

}  // namespace

absl::StatusOr<std::string> ReadPemFile(const char* what, const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return absl::NotFoundError(absl::StrCat("tls: ", what, " ", file,
                                            " cannot be read: ", std::strerror(errno),
                                            "; make it with telltale pki or correct tls.", what));
  }
  std::string text(kMaxBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.empty() || text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls: ", what, " ", file, " is not a PEM file of 1 to ", kMaxBytes, " bytes"));
  }
  return text;
}

absl::StatusOr<std::vector<OpenSslPtr<X509>>> ParseCertificates(const char* what,
                                                                const std::string& file,
                                                                const std::string& pem) {
  const OpenSslPtr<BIO> bio = TextBio(pem);
  std::vector<OpenSslPtr<X509>> certificates;
  while (OpenSslPtr<X509> next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    certificates.push_back(std::move(next));
  }
  const bool end_of_file = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = OpenSslError();
  if (certificates.empty() || !end_of_file) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tls: ", what, " ", file, " holds no readable PEM certificate (", reason, ")"));
  }
  return certificates;
}

std::optional<int64_t> EndOfValidity(const X509* certificate) {
  return UnixSeconds(X509_get0_notAfter(certificate));
}

std::optional<int64_t> NextUpdate(const X509_CRL* list) {
  return UnixSeconds(X509_CRL_get0_nextUpdate(list));
}

OpenSslPtr<BIO> TextBio(const std::string& text) {
  return OpenSslPtr<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string OpenSslError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace telltale::collector
