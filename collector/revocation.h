// What counts no more: the authorities' revocation lists, and the nodes that operators revoked.
// gRPC checks the chain of a certificate; whether it was revoked is checked here, per call and
// again for open streams when that changes, because gRPC would look only at handshakes.
// Thread-safe.

#ifndef TELLTALE_COLLECTOR_REVOCATION_H_
#define TELLTALE_COLLECTOR_REVOCATION_H_

#include <openssl/x509.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::collector {

// What revocation lists know a certificate (PEM) by: its issuer and serial number.
absl::StatusOr<std::string> CertificateId(const std::string& certificate_pem);
std::string CertificateId(const X509* certificate);

class RevocationList {
 public:
  // Reads all lists in `crl_file` (PEM), each signed by a certificate in one of `ca_files` (an
  // empty name: no file). An empty `crl_file`: none are revoked. On an error the lists read before
  // stay in force.
  absl::Status Load(const std::string& crl_file, const std::vector<std::string>& ca_files);

  // Of this node only the certificates with these serial numbers (hexadecimal) count from now on.
  void SetOnly(const std::string& node, const std::vector<std::string>& serials);

  // Unauthenticated if the certificate of this id is on a list.
  absl::Status Check(const std::string& certificate_id) const;
  // The same, also if this node is revoked and the certificate not one that it got since.
  absl::Status CheckNode(const std::string& node, const std::string& certificate_id) const;

  size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> revoked_;                      // guarded by mutex_; certificate ids
  std::map<std::string, std::set<std::string>> only_;  // guarded by mutex_; by node: serial numbers
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_REVOCATION_H_
