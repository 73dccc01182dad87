// The authority that signs nodes, from its files: read again for each certificate, so a new one
// holds from the next on. Values; any thread.

#ifndef TELLTALE_COLLECTOR_ENROLL_ISSUER_H_
#define TELLTALE_COLLECTOR_ENROLL_ISSUER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace telltale::enroll {

struct Issued {
  std::string
      chain_pem;       // the node's certificate, then the issuing authority's unless it is a root
  std::string serial;  // hexadecimal
  uint64_t expires_ns = 0;
};

class Issuer {
 public:
  struct Options {
    std::string cert, key;  // of the authority that signs (PEM)
    std::string trusted;    // tls.ca: whom nodes are to believe (PEM)
    absl::Duration validity = absl::Hours(45 * 24);
  };
  // A clock that is behind must find its new certificate valid; at most half the validity, so that
  // "a third is left" comes after now for however short a one.
  static constexpr absl::Duration kBackdate = absl::Hours(1);

  explicit Issuer(Options options) : options_(std::move(options)) {}

  // Whether it could sign: names file and remedy.
  absl::Status Check(absl::Time now) const;

  // For telltale://node/NODE, clients only, at most as long as the authority itself is valid.
  absl::StatusOr<Issued> Sign(const std::string& node, const std::string& public_key_der,
                              absl::Time now) const;

  // PEM of tls.ca, and the SHA-256 of its first certificate, hexadecimal.
  absl::StatusOr<std::string> Authorities() const;
  absl::StatusOr<std::string> AuthoritySha256() const;

 private:
  const Options options_;
};

}  // namespace telltale::enroll

#endif  // TELLTALE_COLLECTOR_ENROLL_ISSUER_H_
