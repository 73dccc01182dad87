#include "collector/web/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace telltale::web {
namespace {

absl::Status FileError(std::string_view what, const std::string& file) {
  char reason[256] = "unknown";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, reason, sizeof reason);
  }
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("https: cannot use ", std::string(what), " ", file,
                                                 ": ", reason, "; give a readable PEM file"));
}

absl::StatusOr<std::shared_ptr<TlsContext::Context>> Build(const TlsFiles& files) {
  ERR_clear_error();
  auto context = std::make_shared<TlsContext::Context>(TlsContext::Context::tls_server);
  SSL_CTX* ssl = context->native_handle();
  SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION);
  // No resumption: every connection proves its certificate against the CA and CRL of today.
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(ssl, 0);
  if (SSL_CTX_use_certificate_chain_file(ssl, files.cert.c_str()) != 1) {
    return FileError("certificate", files.cert);
  }
  if (SSL_CTX_use_PrivateKey_file(ssl, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return FileError("private key", files.key);
  }
  if (SSL_CTX_check_private_key(ssl) != 1) {
    return FileError("private key (is it that of the certificate?)", files.key);
  }
  if (SSL_CTX_load_verify_locations(ssl, files.ca.c_str(), nullptr) != 1) {
    return FileError("CA", files.ca);
  }
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.ca.c_str());
  if (names == nullptr) return FileError("CA", files.ca);
  SSL_CTX_set_client_CA_list(ssl, names);             // takes ownership
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, nullptr);  // asked for, checked if given
  return context;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Load(TlsFiles files) {
  std::unique_ptr<TlsContext> tls(new TlsContext(std::move(files)));
  if (auto first = tls->ReloadIfChanged(); !first.ok()) return first.status();
  return tls;
}

std::string TlsContext::Fingerprint() const {
  std::string print;
  for (const std::string* file : {&files_.ca, &files_.cert, &files_.key}) {
    struct stat info = {};
    if (file->empty() || stat(file->c_str(), &info) != 0) {
      print += "-;";
      continue;
    }
    absl::StrAppend(&print, info.st_ino, ":", info.st_size, ":", info.st_mtim.tv_sec, ".",
                    info.st_mtim.tv_nsec, ";");
  }
  return print;
}

absl::StatusOr<bool> TlsContext::ReloadIfChanged() {
  // Taken before reading: a file that changes meanwhile is seen as changed at the next call.
  std::string print = Fingerprint();
  if (current_ != nullptr && print == loaded_) return false;
  auto built = Build(files_);
  if (!built.ok()) return built.status();
  current_ = *std::move(built);
  loaded_ = std::move(print);
  return true;
}

}  // namespace telltale::web
