// What counts no more: the authorities' revocation lists, and the nodes that operators revoked.
// gRPC checks the chain of a certificate; whether one of it was revoked is checked here, per call
// and again for open streams when that changes, because gRPC would look only at handshakes.
// Thread-safe.

#ifndef TELLTALE_COLLECTOR_REVOCATION_H_
#define TELLTALE_COLLECTOR_REVOCATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "collector/certificate_id.h"

namespace telltale::collector {

class RevocationList {
 public:
  // Reads all lists in `crl_file` (PEM), each signed by a certificate in `ca_file`, which holds
  // those that are trusted, or in `issuing_file` (an empty name: no file). An empty `crl_file`:
  // none are revoked. On an error the lists read before stay in force; who is trusted is taken
  // over all the same, as handshakes do it.
  absl::Status Load(const std::string& crl_file, const std::string& ca_file,
                    const std::string& issuing_file);

  // Of this node only the certificates with these serial numbers (hexadecimal) count from now on.
  void SetOnly(const std::string& node, const std::vector<std::string>& serials);

  // Unauthenticated if one of these certificates is on a list, or if there are lists and none of
  // them is of an authority that was ever trusted: what lies between is not known (a resumed TLS
  // session tells only the first).
  absl::Status Check(const CertificateIds& certificates) const;
  // The same, also if this node is revoked and the certificate not one that it got since.
  absl::Status CheckNode(const std::string& node, const CertificateIds& certificates) const;

  size_t size() const;

  // When the first of the lists in force should have made way for the next of its authority, in
  // Unix seconds; of one authority the latest counts. nullopt: no list says so.
  std::optional<int64_t> next_update_s() const;
  // What to tell people once that is past; nullopt: it is not. A list stays in force all the same:
  // without it what it revoked would count again, and to refuse everybody would lock a fleet out.
  std::optional<std::string> Outdated(int64_t unix_s) const;

 private:
  // Of the list that is to be replaced first.
  struct Update {
    int64_t due_s = 0;
    std::string authority;  // its name as people write it
    std::string file;
  };

  mutable std::mutex mutex_;
  std::set<std::string> revoked_;  // guarded by mutex_; certificate ids
  std::set<std::string> trusted_;  // guarded by mutex_; names of authorities, with those of before
  std::map<std::string, std::set<std::string>> only_;  // guarded by mutex_; by node: serial numbers
  std::optional<Update> update_;                       // guarded by mutex_
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_REVOCATION_H_
