// Decides who gets a certificate and under which name: one-time tokens, an operator's word, or the
// certificate that is to be replaced. Signs, and keeps what was signed. Knows no transport; limits
// of how often one may ask are its callers'.
//
// Thread-safe. Owned by the collector; kept in the catalog (table 14).

#ifndef TELLTALE_COLLECTOR_ENROLL_ENROLL_DESK_H_
#define TELLTALE_COLLECTOR_ENROLL_ENROLL_DESK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/enroll/enroll_stats.h"
#include "collector/enroll/enroll_tokens.h"
#include "collector/enroll/issuer.h"
#include "collector/enroll/waiting_room.h"
#include "storage/catalog.h"
#include "telltale/v1/enroll.pb.h"

namespace telltale::enroll {

class EnrollDesk {
 public:
  // A request whose answer was lost may be repeated for so long, and gets the same certificate.
  static constexpr uint64_t kRepeatNs = 600ull * 1'000'000'000;

  struct Options {
    storage::Catalog* catalog = nullptr;  // outlives the desk
    const Issuer* issuer = nullptr;       // outlives it; null: this collector signs nobody
    bool by_hand = false;                 // who has no token may wait for an operator
    std::function<uint64_t()> now_ns;     // since 1970
    // Of a node that was revoked only the certificates with these serial numbers count from now on.
    // Called from Open on, under the desk's lock. Null: nobody has to be told.
    std::function<void(const std::string& node, const std::vector<std::string>& serials)> set_only;
    // NotFound, with a hint, for a node that never reported. Null: only those that enrolled are
    // known.
    std::function<absl::Status(const std::string& node)> reported;
  };
  // DataLoss: an entry that cannot be read.
  static absl::StatusOr<std::unique_ptr<EnrollDesk>> Open(Options options);

  struct Asked {
    std::string node, token, signing_request;
    std::string address;  // who asks, without the port
  };
  struct Answer {
    Outcome outcome = Outcome::kFailed;
    absl::Status status;                    // of a refusal: step, value, remedy
    v1::StoredNodeCertificate certificate;  // if there is one
    std::string request;                    // kWaiting: its id
    std::string key_sha256;                 // once the signing request was read
  };
  // For who has no certificate. The token is looked at before anything that costs.
  Answer Enroll(const Asked& asked);
  // For the node that showed the certificate with this serial number: the latest it was given, or
  // the one before (the answer with the latest may have been lost).
  Answer Renew(const Asked& asked, const std::string& serial);

  absl::StatusOr<EnrollTokens::Created> CreateToken(const v1::CreateEnrollTokenRequest& request,
                                                    const std::string& by);
  absl::StatusOr<EnrollTokens::Revoked> RevokeToken(const std::string& id, const std::string& by);
  // The certificates the node has, those issued elsewhere too, count no more, nor do tokens and
  // approvals from before. Durable when it returns. NotFound: neither enrolled nor ever reported.
  struct NodeRevoked {
    v1::NodeCertificate certificate;
    bool changed = false;
  };
  absl::StatusOr<NodeRevoked> RevokeNode(const std::string& node, const std::string& by);
  struct Decided {
    v1::WaitingEnrolment request;
    bool changed = false;
  };
  absl::StatusOr<Decided> Decide(const std::string& id, bool approve, const std::string& by);
  absl::StatusOr<v1::ListEnrolmentsAnswer> List() const;
  size_t Waiting() const;

 private:
  explicit EnrollDesk(Options options)
      : options_(std::move(options)), tokens_(options_.catalog), waiting_(options_.catalog) {}

  using Known = std::optional<v1::StoredNodeCertificate>;
  absl::StatusOr<Known> CertificateOf(const std::string& node) const;
  Answer ByToken(const Asked& asked, const Known& known, const std::string& digest, uint64_t now);
  Answer ByHand(const Asked& asked, const Known& known, const std::string& digest, uint64_t now);
  // Signs and keeps it; `also` joins what else changes with it.
  Answer Issue(const Asked& asked, v1::StoredNodeCertificate certificate, uint64_t now,
               Outcome outcome, const std::function<void(storage::Transaction&)>& also);
  // Tells who has to know which certificates of a node that was revoked count.
  void Enforce(const v1::StoredNodeCertificate& latest) const;
  absl::Status EnforceAll() const;
  v1::WaitingEnrolment Shown(const v1::StoredWaiting& waiting, uint64_t now) const;

  const Options options_;
  mutable std::mutex mutex_;
  EnrollTokens tokens_;  // guarded by mutex_
  WaitingRoom waiting_;  // guarded by mutex_
};

}  // namespace telltale::enroll

#endif  // TELLTALE_COLLECTOR_ENROLL_ENROLL_DESK_H_
