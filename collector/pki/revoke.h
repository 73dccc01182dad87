// Revocation lists: the certificates of an authority that count no more. Free function, any thread.

#ifndef TELLTALE_COLLECTOR_PKI_REVOKE_H_
#define TELLTALE_COLLECTOR_PKI_REVOKE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/pki/certificate.h"

namespace telltale::pki {

// A list of the authority's (PEM) with everything that `before` (PEM, may be empty) holds of this
// authority, and these serial numbers (hexadecimal). Lists of other authorities in `before` follow
// unchanged. InvalidArgument: a serial that is no number, a list that cannot be read.
absl::StatusOr<std::string> RevokeSerials(const KeyPair& authority, const std::string& before,
                                          const std::vector<std::string>& serials, absl::Time now,
                                          absl::Time next_update);

// Whether `lists` (PEM, may be empty) hold one of the authority with this certificate (PEM).
absl::StatusOr<bool> HasListOf(const std::string& authority, const std::string& lists);

}  // namespace telltale::pki

#endif  // TELLTALE_COLLECTOR_PKI_REVOKE_H_
