// What revocation lists know a certificate by. Free functions; any thread.

#ifndef TELLTALE_COLLECTOR_CERTIFICATE_ID_H_
#define TELLTALE_COLLECTOR_CERTIFICATE_ID_H_

#include <openssl/x509.h>

#include <string>
#include <vector>

namespace telltale::collector {

// Serial number (hexadecimal), "/", the issuer's name (DER).
std::string CertificateId(const X509_NAME* issuer, const ASN1_INTEGER* serial);
std::string CertificateId(const X509* certificate);
// Its two parts.
std::string SerialOf(const std::string& id);
std::string IssuerOf(const std::string& id);
// A name as IssuerOf gives it, to compare with: names of other encodings are others.
std::string NameBytes(const X509_NAME* name);

// Of a peer: of its certificate, then of those between it and the authority that is trusted (or
// that one, too). A stolen issuing authority signs what serial numbers it likes, so its own counts.
using CertificateIds = std::vector<std::string>;

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_CERTIFICATE_ID_H_
